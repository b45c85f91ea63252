"""Kafka's file of producer state, `.snapshot` version 1: a CRC and one entry for each producer.

An entry keeps only the last batch of its producer. Bytes in, entries out and back;
`penstock.storage.producers` gives them their meaning, `penstock.storage.snapshots` their files.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

SNAPSHOT_VERSION = 1

_HEADER = Struct(">hIi")
_CRC_END = 6
_ENTRY = Struct(">qhiqiqiq")


class SnapshotEntry(NamedTuple):
    """One producer, in the order of the file's fields. What there is none of is -1, an offset delta 0."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int


def encode_snapshot(entries: Iterable[SnapshotEntry]) -> bytes:
    """The file."""
    packed = [_ENTRY.pack(*entry) for entry in entries]
    counted = len(packed).to_bytes(4, "big") + b"".join(packed)
    return SNAPSHOT_VERSION.to_bytes(2, "big") + crc32c(counted).to_bytes(4, "big") + counted


def decode_snapshot(data: bytes) -> list[SnapshotEntry]:
    """Its entries; ValueError when it is damaged."""
    if len(data) < _HEADER.size:
        raise ValueError(f"{len(data)} bytes are too few for a snapshot")
    version, crc, count = _HEADER.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise ValueError(f"snapshot version {version} is not {SNAPSHOT_VERSION}")
    if crc != crc32c(memoryview(data)[_CRC_END:]) or len(data) != _HEADER.size + count * _ENTRY.size:
        raise ValueError("the snapshot's CRC or size does not hold")
    return [SnapshotEntry._make(each) for each in _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :])]
