"""What compaction leaves of one batch: all of it, some of its records, its bare header, or nothing.

Offsets, sequences, leader epoch and codec stay what they were, whatever is dropped. Which key has its last
value where is known by an `OffsetMap`. Bytes in, bytes out; called by `penstock.storage.compaction`. The
rules are Kafka's (`Cleaner.cleanInto`, `MemoryRecords.filterTo`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    build,
)
from penstock.records.codecs import CodecError, compress, decompress
from penstock.records.keys import OffsetMap
from penstock.records.record import MAX_DECODED_BYTES

_INT64_MAX = 2**63 - 1


class Round(NamedTuple):
    """What one round of compaction knows beside the keys."""

    latest_offset: int
    """Up to here, and no further, the map knows every key."""
    end: int
    """Where the round ends. The batch before it stays, if only as a header: it says where the log goes on."""
    now_ms: int
    delete_retention_ms: int
    last_offsets: Mapping[int, int]
    """The last offset of each active producer: its batch holds the producer's last sequence."""


def unpack(batch: memoryview, header: BatchHeader) -> bytes | bytearray | memoryview:
    """The records of a batch, decompressed; `CorruptBatch` when they cannot be."""
    if header.is_transactional and not header.is_control:
        # A map with keys of an aborted transaction would drop the values that it leaves in force.
        raise CorruptBatch("transactional records: whether they were committed is not known here")
    try:
        return decompress(header.codec, batch[HEADER_SIZE:], MAX_DECODED_BYTES)
    except CodecError as error:
        raise CorruptBatch(str(error)) from error


def leave(batch: memoryview, header: BatchHeader, keys: OffsetMap, now: Round) -> bytes | memoryview | None:
    """What stays of this batch; None when nothing does."""
    if header.is_control:
        return batch  # each marker may still be needed, as long as nobody tells which transactions are over
    horizon = header.delete_horizon_ms
    sifted = keys.sift(
        unpack(batch, header),
        header.records_count,
        base_offset=header.base_offset,
        base_timestamp=header.base_timestamp,
        latest_offset=now.latest_offset,
        keep_tombstones=horizon is None or now.now_ms < horizon,
        horizon=_horizon(now) if horizon is None else None,
    )
    if not sifted.kept:
        return _emptied(header) if _stays_empty(header, now) else None
    if sifted.payload is None:
        return batch
    changed = header._replace(records_count=sifted.kept)
    if not header.is_log_append_time:
        changed = changed._replace(max_timestamp=sifted.max_timestamp)
    if sifted.rebased:
        attributes = header.attributes | DELETE_HORIZON_FLAG
        changed = changed._replace(attributes=attributes, base_timestamp=_horizon(now))
    return build(changed, compress(header.codec, sifted.payload))


def _horizon(now: Round) -> int:
    """When tombstones that are seen in this round for the first time may go."""
    return min(_INT64_MAX, now.now_ms + now.delete_retention_ms)


def _stays_empty(header: BatchHeader, now: Round) -> bool:
    if header.next_offset == now.end:
        return True
    return header.producer_id >= 0 and now.last_offsets.get(header.producer_id) == header.last_offset


def _emptied(header: BatchHeader) -> bytes:
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG)
    return build(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0), b"")
