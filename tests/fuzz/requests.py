"""Requests of every API and version: valid ones with random fields, and mutations of them.

Everything is drawn from one seeded generator, so that a finding can be repeated.
"""

from __future__ import annotations

import dataclasses
import io
import typing
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from kio.schema.errors import ErrorCode

from penstock.handlers.table import HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.messages import _entity, _writer
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from tests.handlers.one_node import request_frame

NAMES = ["t", "u", "t", "g", "", "a/b", "..", "__consumer_offsets", "x" * 300, "ünï", "user", "client-id",
         "ip", "1", "retention.ms", "cleanup.policy", "producer_byte_rate", "5", "test"]  # fmt: skip
SMALL = [-2, -1, 0, 1, 2, 3, 5]
EXTREME = [2**7 - 1, -(2**7), 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 1000, 100_000]
LONGEST_ARRAY = 3
OLDEST_PRODUCE = 3
"""v0-v2 are announced and refused; kio does not know them."""


def served_versions() -> Iterator[tuple[Api, int]]:
    """Every API in every version that is served."""
    for api, module in HANDLERS.items():
        low, high = module.VERSIONS
        for version in range(OLDEST_PRODUCE if api is Api.PRODUCE else low, high + 1):
            yield api, version


class RequestMaker:
    """Makes frames. `topic_ids` are ids that mean something to the broker under test, `names` what stands
    wherever a request has a text."""

    def __init__(
        self, random: Random, topic_ids: list[bytes] | None = None, names: Sequence[str] = NAMES
    ) -> None:
        self._random = random
        self._names = names
        self._ids = [uuid.UUID(bytes=topic_id) for topic_id in topic_ids or ()]

    def frame(self, api: Api, version: int) -> bytes:
        """A valid request, without its length."""
        body = self.body(_entity(api, version, "Request"))
        return request_frame(api, version, body, self._random.choice(["test", "", "fuzz"]))

    def body(self, entity: type) -> bytes:
        """A structure with random fields, as kio writes it."""
        out = io.BytesIO()
        _writer(entity)(out, self._value(entity))
        return out.getvalue()

    def _value(self, entity: type) -> Any:
        hints = typing.get_type_hints(entity)
        return entity(
            **{field.name: self._field(field, hints[field.name]) for field in dataclasses.fields(entity)}
        )

    def _field(self, field: dataclasses.Field[Any], hint: Any) -> Any:
        options = typing.get_args(hint)
        if type(None) in options and self._random.random() < 0.2:
            return None
        for inner in (hint, *options):
            if typing.get_origin(inner) is tuple:
                return self._array(field, typing.get_args(inner)[0])
            if dataclasses.is_dataclass(inner) and isinstance(inner, type):
                return self._value(inner)
        return self._primitive(field.metadata["kafka_type"])

    def _array(self, field: dataclasses.Field[Any], item: Any) -> tuple[Any, ...]:
        make: Callable[[], Any] = (
            (lambda: self._value(item))
            if dataclasses.is_dataclass(item)
            else (lambda: self._primitive(field.metadata["kafka_type"]))
        )
        return tuple(make() for _ in range(self._random.randrange(LONGEST_ARRAY + 1)))

    def _primitive(self, kind: str) -> Any:
        random = self._random
        match kind:
            case "string":
                return random.choice(self._names)
            case "bool":
                return random.random() < 0.5
            case "uuid":
                made = uuid.UUID(bytes=random.randbytes(16), version=4)
                return random.choice([None, made, *self._ids, *self._ids])
            case "float64":
                return random.choice([0.0, 1.0, -1.0, 1e308, float("inf"), float("nan"), random.random()])
            case "bytes":
                return random.randbytes(random.randrange(40))
            case "records":
                return self._batch()
            case "timedelta_i32" | "timedelta_i64":
                return timedelta(milliseconds=random.choice([0, 1, 1000, 2**31 - 1]))
            case "error_code":
                return random.choice(list(ErrorCode))
            case "datetime_i64":
                return datetime.fromtimestamp(random.randrange(2**31), UTC)
            case "uint16":
                return random.randrange(2**16)
            case _:
                return self._whole_number(int(kind.removeprefix("int")))

    def _whole_number(self, bits: int) -> int:
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        value = self._random.choice(SMALL if self._random.random() < 0.85 else EXTREME)
        return min(max(value, low), high)

    def _batch(self) -> bytes:
        random = self._random
        records = [
            Record(random.choice([None, b"k"]), random.choice([None, b"", b"v" * 30]), (("h", b"x"),), 1000)
            for _ in range(random.randrange(1, 4))
        ]
        batch = encode_batch(
            records,
            codec=random.choice(list(Codec)),
            producer_id=random.choice([-1, -1, 5]),
            producer_epoch=random.choice([-1, 0]),
            base_sequence=random.choice([-1, 0, 3]),
            transactional=random.random() < 0.05,
            control=random.random() < 0.05,
        )
        return bytes(batch)


HEADER_BYTES = 8
"""API key, version and correlation id: mutations mostly leave them alone, or they would never get far."""


def mutated(random: Random, frame: bytes, other: bytes) -> bytes:
    """One to four mutations of a frame; `other` is a frame to borrow from."""
    data = bytearray(frame)
    for _ in range(random.randrange(1, 5)):
        if len(data) <= HEADER_BYTES:
            return bytes(data)
        first = 0 if random.random() < 0.02 else HEADER_BYTES
        _mutate(random, data, random.randrange(first, len(data)), other)
    return bytes(data)


def _mutate(random: Random, data: bytearray, place: int, other: bytes) -> None:
    match random.randrange(9):
        case 0:
            data[place] ^= 1 << random.randrange(8)
        case 1:
            data[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        case 2:
            del data[place:]
        case 3:
            data += random.randbytes(random.randrange(1, 20))
        case 4:
            number = random.choice([0, -1, 2**31 - 1, -(2**31), 2**20, 65_536])
            data[place : place + 4] = number.to_bytes(4, "big", signed=True)
        case 5:
            data[place : place + 2] = random.choice([b"\xff\xff", b"\x7f\xff", b"\x00\x00"])
        case 6:
            data[place : place + 5] = b"\xff\xff\xff\xff\x07"  # the largest varint
        case 7:
            end = random.randrange(place, len(data)) + 1
            data[place:place] = data[place:end] * random.randrange(1, 4)
        case _:
            start = random.randrange(len(other))
            data[place : place + 8] = other[start : start + 8]
