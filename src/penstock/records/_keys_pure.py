"""What the cleaner asks of records, in plain Python: the last offset of each key, and what compaction leaves.

The specification of `_keys_native.pyx`, and its stand-in where no compiler was found; a
property test holds the two equal. Called through `penstock.records.keys`.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from penstock.records._walk_pure import (
    INT64_MAX,
    INT64_MIN,
    OFFSET,
    OFFSET_ORDER,
    TIMESTAMP,
    WalkedRecord,
    refusal,
    walk_records,
)
from penstock.records.batch import NO_TIMESTAMP, Bytes
from penstock.records.varint import write_varlong

SLOT_BYTES: Final = 200
"""What an entry of a dictionary takes, with its key and its value; the native map needs 24 bytes."""
SECRET_BYTES: Final = 16
HASH_BYTES: Final = 16
_LOAD: Final = 0.8


class Sifted(NamedTuple):
    """What compaction leaves of the records of a batch."""

    kept: int
    rebased: bool
    """Timestamps are relative to the delete horizon now."""
    max_timestamp: int
    """Of the records that are kept; NO_TIMESTAMP when there are none."""
    payload: bytes | None
    """The records that are kept; None when all are, as they were."""


def most_keys(slots: int) -> int:
    """How many keys a table of this size takes: probing gets long in a full one, and never ends without a
    free slot."""
    return min(slots - 1, int(slots * _LOAD))


class OffsetMap:
    """The last offset of each key, in memory of a fixed size. Keys are known by 128 bits of a keyed hash.

    With a secret in the hash nobody can choose keys that collide.
    """

    def __init__(self, slots: int, secret: bytes) -> None:
        if slots < 1 or len(secret) != SECRET_BYTES:
            raise ValueError(f"{slots} slots and a secret of {len(secret)} bytes make no map")
        self.capacity = most_keys(slots)
        self._secret = secret
        self._offsets: dict[bytes, int] = {}

    @property
    def size(self) -> int:
        return len(self._offsets)

    def get(self, key: bytes) -> int:
        """The last offset of this key, or -1."""
        return self._offsets.get(self._hash(key), -1)

    def add(self, payload: Bytes, count: int, base_offset: int, start_offset: int) -> bool:
        """Take in the keys of the records from `start_offset` on. False when there was no room for all of
        them; those before are in."""
        for record in _in_order(payload, count, base_offset):
            offset = base_offset + record.offset_delta
            if record.key is None or offset < start_offset:
                continue
            if self.size >= self.capacity:
                return False
            key = self._hash(record.key)
            self._offsets[key] = max(offset, self._offsets.get(key, -1))
        return True

    def sift(
        self,
        payload: Bytes,
        count: int,
        *,
        base_offset: int,
        base_timestamp: int,
        latest_offset: int,
        keep_tombstones: bool,
        horizon: int | None = None,
    ) -> Sifted:
        """What compaction leaves of a batch's records.

        Records behind `latest_offset`, up to which the map knows all keys, stay; of the others those stay
        that have a key, are its last, and are no tombstones unless `keep_tombstones`. Where a tombstone
        stays and `horizon` is given, timestamps become relative to it (KIP-534).
        """
        view = memoryview(payload)
        kept = []
        for index, record in enumerate(_in_order(view, count, base_offset)):
            timestamp = base_timestamp + record.timestamp_delta
            if not INT64_MIN <= timestamp <= INT64_MAX:
                raise refusal(index, TIMESTAMP)
            if self._stays(record, base_offset + record.offset_delta, latest_offset, keep_tombstones):
                kept.append((index, timestamp, record))
        latest = max((timestamp for _, timestamp, _ in kept), default=NO_TIMESTAMP)
        latest = max(latest, NO_TIMESTAMP)
        rebased = horizon is not None and any(record.value is None for _, _, record in kept)
        if len(kept) == count and not rebased:
            return Sifted(len(kept), False, latest, None)
        out = bytearray()
        for index, timestamp, record in kept:
            if not rebased or horizon is None:
                out += view[record.start : record.end]
            elif not INT64_MIN <= timestamp - horizon <= INT64_MAX:
                raise refusal(index, TIMESTAMP)
            else:
                _write_rebased(out, view, record, timestamp - horizon)
        return Sifted(len(kept), rebased, latest, bytes(out))

    def _stays(self, record: WalkedRecord, offset: int, latest_offset: int, keep_tombstones: bool) -> bool:
        if offset > latest_offset:
            return True
        if record.key is None or (record.value is None and not keep_tombstones):
            return False
        return offset >= self._offsets.get(self._hash(record.key), -1)

    def _hash(self, key: bytes | memoryview) -> bytes:
        return blake2b(key, digest_size=HASH_BYTES, key=self._secret).digest()


def _in_order(payload: Bytes, count: int, base_offset: int) -> Iterator[WalkedRecord]:
    """Each record; `CorruptBatch` unless offsets increase."""
    previous = -1
    for index, record in enumerate(walk_records(memoryview(payload), count)):
        if record.offset_delta < 0 or base_offset + record.offset_delta > INT64_MAX:
            raise refusal(index, OFFSET)
        if record.offset_delta <= previous:
            raise refusal(index, OFFSET_ORDER)
        previous = record.offset_delta
        yield record


def _write_rebased(out: bytearray, payload: memoryview, record: WalkedRecord, timestamp_delta: int) -> None:
    delta = bytearray()
    write_varlong(delta, timestamp_delta)
    write_varlong(out, 1 + len(delta) + record.end - record.rest)
    out += payload[record.attributes : record.attributes + 1]
    out += delta
    out += payload[record.rest : record.end]
