"""Fetch (key 1, v17) as followers send it: many partitions by topic id, who asks and in which life, fetch
sessions (KIP-227), and answers that say where logs have parted. The records of an answer are views into it.

What is fetched, and what becomes of it, is decided by `penstock.replication.fetching`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import groupby
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import MalformedMessage, Reader, Writer
from penstock.wire.errors import error_code

VERSION: Final = 17
NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
LAST_EPOCH: Final = 2**31 - 1

Place = tuple[bytes, int]  # topic id and partition

_HEAD: Final = struct.Struct(">iiibii")
_PARTITION: Final = struct.Struct(">iiqiqi")
_REPLICA: Final = struct.Struct(">iq")
_EPOCH_END: Final = struct.Struct(">iq")
_DIVERGING_TAG: Final = 0
_REPLICA_TAG: Final = 1
_SMALLEST_PARTITION_BYTES: Final = 30


class Wanted(NamedTuple):
    """One partition and where the follower's log ends."""

    leader_epoch: int
    offset: int
    last_epoch: int
    """Of the last batch: the leader compares it with its own at this offset (KIP-595)."""
    log_start_offset: int


class Limits(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int


class LeaderAnswer(NamedTuple):
    """What the leader says of one partition."""

    place: Place
    error: ErrorCode
    high_watermark: int
    log_start_offset: int
    diverging: tuple[int, int] | None
    records: memoryview


class Response(NamedTuple):
    error: ErrorCode
    session_id: int
    answers: list[LeaderAnswer]


class ReplicaSession:
    """What the leader remembers of the fetches before, so that only changes are named."""

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._told: dict[Place, Wanted] = {}
        self._asked: dict[Place, Wanted] = {}

    def encode(self, wanted: Mapping[Place, Wanted], limits: Limits, replica: tuple[int, int]) -> bytes:
        """The next request, for all of `wanted`; `replica` is the broker that asks, and its epoch."""
        self._asked = dict(wanted)
        changed = {place: want for place, want in wanted.items() if self._told.get(place) != want}
        writer = Writer(flexible=True)
        writer.pack(_HEAD, *limits[:3], 0, self._id, self._epoch)
        _write_topics(writer, changed, limits.partition_max_bytes)
        _write_forgotten(writer, [place for place in self._told if place not in wanted])
        writer.string("")  # no rack: followers fetch from the leader
        writer.tags({_REPLICA_TAG: _REPLICA.pack(*replica) + b"\x00"})
        return bytes(writer.data)

    def answered(self, response: Response) -> None:
        """The leader knows now what was asked, if it keeps a session; otherwise all is named again."""
        if response.error is not ErrorCode.NONE or response.session_id == NO_SESSION:
            self.forget()
            return
        self._id, self._told = response.session_id, self._asked
        self._epoch = FIRST_EPOCH + 1 if self._epoch == LAST_EPOCH else self._epoch + 1

    def forget(self) -> None:
        """The connection broke, or the leader has forgotten: begin another session."""
        self._id, self._epoch, self._told = NO_SESSION, FIRST_EPOCH, {}


def _write_topics(writer: Writer, wanted: Mapping[Place, Wanted], max_bytes: int) -> None:
    topics = [(topic, list(places)) for topic, places in groupby(wanted, key=lambda place: place[0])]
    writer.array(len(topics))
    for topic_id, places in topics:
        writer.uuid(topic_id)
        writer.array(len(places))
        for place in places:
            want = wanted[place]
            writer.pack(
                _PARTITION,
                *(place[1], want.leader_epoch, want.offset, want.last_epoch, want.log_start_offset),
                max_bytes,
            )
            writer.tags()
        writer.tags()


def _write_forgotten(writer: Writer, forgotten: list[Place]) -> None:
    topics = [(topic, list(places)) for topic, places in groupby(forgotten, key=lambda place: place[0])]
    writer.array(len(topics))
    for topic_id, places in topics:
        writer.uuid(topic_id)
        writer.array(len(places))
        for _, index in places:
            writer.int32(index)
        writer.tags()


def read_response(body: memoryview) -> Response:
    reader = Reader(body, flexible=True)
    reader.int32()  # throttle time
    error, session_id = error_code(reader.int16()), reader.int32()
    answers = []
    for _ in range(reader.array(2)):
        topic_id = reader.uuid()
        answers += [_read_partition(reader, topic_id) for _ in range(reader.array(_SMALLEST_PARTITION_BYTES))]
        reader.tags()
    reader.tags()
    if reader.remaining:
        raise MalformedMessage(f"{reader.remaining} bytes are left after a fetch response")
    return Response(error, session_id, answers)


def _read_partition(reader: Reader, topic_id: bytes) -> LeaderAnswer:
    index, error = reader.int32(), error_code(reader.int16())
    high_watermark, _, log_start_offset = reader.int64(), reader.int64(), reader.int64()
    for _ in range(reader.array(16)):  # aborted transactions: told to consumers only
        reader.int64()
        reader.int64()
        reader.tags()
    reader.int32()  # preferred replica
    records = reader.nullable_bytes()
    tags = reader.tags()
    diverging = _EPOCH_END.unpack_from(tags[_DIVERGING_TAG]) if _DIVERGING_TAG in tags else None
    return LeaderAnswer(
        (topic_id, index),
        error,
        high_watermark,
        log_start_offset,
        diverging,
        memoryview(b"") if records is None else records,
    )
