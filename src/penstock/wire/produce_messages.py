"""Produce (key 0, v3-v12) from the client's side: the request is written around the batches, which are not
copied.

The broker's side of the same messages is `penstock.protocol.produce`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import Reader, Writer
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.errors import error_code
from penstock.wire.transport import Buffer

VERSIONS: Final = (3, 12)  # 13 names topics by id and says nothing else
JOINS_TRANSACTIONS: Final = 12
ACKS_ALL: Final = -1
_SMALLEST_RESULT_BYTES: Final = 22


class Result(NamedTuple):
    """What became of the batch of one partition."""

    error: ErrorCode
    base_offset: int
    message: str | None


def encode_request(
    version: int,
    batches: Mapping[TopicPartition, Buffer],
    *,
    timeout_ms: int,
    transactional_id: str | None = None,
) -> list[Buffer]:
    """The body in parts, the batches among them as they were given."""
    parts: list[Buffer] = []
    writer = Writer(flexible=is_flexible(Api.PRODUCE, version))
    by_topic: dict[str, list[tuple[int, Buffer]]] = {}
    for (topic, index), batch in batches.items():
        by_topic.setdefault(topic, []).append((index, batch))
    writer.nullable_string(transactional_id)
    writer.int16(ACKS_ALL)
    writer.int32(timeout_ms)
    writer.array(len(by_topic))
    for topic, partitions in by_topic.items():
        writer.string(topic)
        writer.array(len(partitions))
        for index, batch in partitions:
            writer.int32(index)
            writer.length(len(batch))
            parts += [bytes(writer.data), batch]
            writer.data.clear()
            writer.tags()
        writer.tags()
    writer.tags()
    parts.append(bytes(writer.data))
    return parts


def read_response(version: int, body: memoryview) -> dict[TopicPartition, Result]:
    reader = Reader(body, flexible=is_flexible(Api.PRODUCE, version))
    results = {}
    for _ in range(reader.array(2)):
        topic = reader.string()
        for _ in range(reader.array(_SMALLEST_RESULT_BYTES)):
            index = reader.int32()
            results[TopicPartition(topic, index)] = _read_result(reader, version)
        reader.tags()
    return results


def _read_result(reader: Reader, version: int) -> Result:
    error, base_offset = error_code(reader.int16()), reader.int64()
    reader.int64()  # the time of appending
    if version >= 5:
        reader.int64()  # log start offset
    message = None
    if version >= 8:
        reasons = []
        for _ in range(reader.array(5)):
            reader.int32()
            reasons.append(reader.nullable_string())
            reader.tags()
        message = reader.nullable_string() or next((reason for reason in reasons if reason), None)
    reader.tags()
    return Result(error, base_offset, message)
