"""The records of MirrorMaker 2's internal topics, byte for byte: offset syncs, checkpoints, heartbeats, and
the source offsets that Connect keeps for its connector.

A reader that finds something else gets None and passes it over, as MirrorMaker 2 does.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Final, NamedTuple

from penstock.protocol.topic_partition import TopicPartition

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_PAIR: Final = struct.Struct(">qq")
_VERSION: Final = 0
CONNECTOR: Final = "MirrorSourceConnector"
"""The name under which Connect keeps the source offsets of a flow."""


class OffsetSync(NamedTuple):
    """The record at one offset of the source stands at another of the target."""

    place: TopicPartition
    """On the source."""
    upstream: int
    downstream: int

    def key(self) -> bytes:
        return _text(self.place.topic) + _INT.pack(self.place.partition)

    def value(self) -> bytes:
        return _PAIR.pack(self.upstream, self.downstream)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> OffsetSync | None:
        try:
            topic, rest = _read_text(key or b"")
            return cls(TopicPartition(topic, _INT.unpack(rest)[0]), *_PAIR.unpack(value or b""))
        except (struct.error, UnicodeDecodeError):
            return None


class Checkpoint(NamedTuple):
    """Where a group is, on the source and on the target."""

    group: str
    place: TopicPartition
    """On the target."""
    upstream: int
    downstream: int
    metadata: str = ""

    def key(self) -> bytes:
        return _text(self.group) + _text(self.place.topic) + _INT.pack(self.place.partition)

    def value(self) -> bytes:
        return _SHORT.pack(_VERSION) + _PAIR.pack(self.upstream, self.downstream) + _text(self.metadata)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> Checkpoint | None:
        try:
            group, rest = _read_text(key or b"")
            topic, rest = _read_text(rest)
            place = TopicPartition(topic, _INT.unpack(rest)[0])
            if value is None or _SHORT.unpack_from(value)[0] != _VERSION:
                return None
            upstream, downstream = _PAIR.unpack_from(value, 2)
            return cls(group, place, upstream, downstream, _read_text(value[18:])[0])
        except (struct.error, UnicodeDecodeError):
            return None


class Heartbeat(NamedTuple):
    """The flow from `source` to `target` was alive at `timestamp_ms`."""

    source: str
    target: str
    timestamp_ms: int

    def key(self) -> bytes:
        return _text(self.source) + _text(self.target)

    def value(self) -> bytes:
        return _SHORT.pack(_VERSION) + _LONG.pack(self.timestamp_ms)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> Heartbeat | None:
        try:
            source, rest = _read_text(key or b"")
            target, _ = _read_text(rest)
            if value is None or _SHORT.unpack_from(value)[0] != _VERSION:
                return None
            return cls(source, target, _LONG.unpack_from(value, 2)[0])
        except (struct.error, UnicodeDecodeError):
            return None


class SourceOffset(NamedTuple):
    """How far a partition of the source is copied. MirrorMaker 2 reads and writes the same records, so either
    goes on where the other has stopped."""

    cluster: str
    place: TopicPartition
    last: int
    """The last offset that is copied."""
    sync: tuple[int, int] | None = None
    """A record on both sides: its offset on the source and on the target. MirrorMaker 2 does not know this
    field and passes over it."""

    def key(self) -> bytes:
        partition = {"cluster": self.cluster, "partition": self.place.partition, "topic": self.place.topic}
        return _json([CONNECTOR, partition])

    def value(self) -> bytes:
        return _json(
            {"offset": self.last} if self.sync is None else {"offset": self.last, "sync": list(self.sync)}
        )

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> SourceOffset | None:
        """None for what is not a source offset of ours; a tombstone has `last` -1."""
        try:
            name, partition = json.loads(key or b"")
            if name != CONNECTOR:
                return None
            place = TopicPartition(str(partition["topic"]), int(partition["partition"]))
            found = {} if value is None else json.loads(value)
            sync = found.get("sync")
            pair = None if sync is None else (int(sync[0]), int(sync[1]))
            return cls(str(partition["cluster"]), place, int(found.get("offset", -1)), pair)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            return None


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _SHORT.pack(len(encoded)) + encoded


def _read_text(data: bytes) -> tuple[str, bytes]:
    size = _SHORT.unpack_from(data)[0]
    if size < 0 or len(data) < 2 + size:
        raise struct.error("a text is cut short")
    return data[2 : 2 + size].decode(), data[2 + size :]
