"""The control records of a quorum's log, in Kafka's layout: LeaderChange, and the header and footer of
snapshots.

A control record's key is a version and a type; its value is a flexible structure that begins with its own
version.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.protocol.primitives import Writer
from penstock.records.record import Record, encode_batch

LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
_VERSION: Final = 0


def leader_change(leader_id: int, voters: Iterable[int], granting: Iterable[int], now_ms: int) -> bytes:
    """The first batch of an epoch. Committing it commits everything before it, too."""
    value = Writer(flexible=True)
    value.int16(_VERSION)
    value.int32(leader_id)
    for nodes in (sorted(voters), sorted(granting)):
        value.array(len(nodes))
        for node in nodes:
            value.int32(node)
            value.tags()
    value.tags()
    return _batch(LEADER_CHANGE, value, now_ms)


def snapshot_header(last_contained_ms: int, now_ms: int) -> bytes:
    """The first batch of a snapshot: the time of the last record that is in it."""
    value = Writer(flexible=True)
    value.int16(_VERSION)
    value.int64(last_contained_ms)
    value.tags()
    return _batch(SNAPSHOT_HEADER, value, now_ms)


def snapshot_footer(now_ms: int) -> bytes:
    """The last batch of a snapshot: one without it is not whole."""
    value = Writer(flexible=True)
    value.int16(_VERSION)
    value.tags()
    return _batch(SNAPSHOT_FOOTER, value, now_ms)


def control_type(record: Record) -> int:
    """Which control record this is."""
    return int.from_bytes((record.key or b"")[2:4], "big")


def _batch(kind: int, value: Writer, now_ms: int) -> bytes:
    key = _VERSION.to_bytes(2, "big") + kind.to_bytes(2, "big")
    return bytes(encode_batch([Record(key, bytes(value.data), (), now_ms)], control=True))
