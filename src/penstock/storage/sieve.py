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
from penstock.records.control import read_marker, with_delete_horizon
from penstock.records.keys import OffsetMap
from penstock.records.record import MAX_DECODED_BYTES
from penstock.storage.cleaned_transactions import CleanedTransactions
from penstock.storage.producers import NO_OFFSET, ActiveProducer

_INT64_MAX = 2**63 - 1


class Round(NamedTuple):
    """What one round of compaction knows beside the keys."""

    latest_offset: int
    """Up to here, and no further, the map knows every key."""
    end: int
    """Where the round ends. The batch before it stays, if only as a header: it says where the log goes on."""
    now_ms: int
    delete_retention_ms: int
    producers: Mapping[int, ActiveProducer]
    """By id. The last batch of one holds its last sequence, or its last marker its epoch: they stay, if only
    as headers."""
    transactions: CleanedTransactions


def unpack(batch: memoryview, header: BatchHeader) -> bytes | bytearray | memoryview:
    """The records of a batch, decompressed; `CorruptBatch` when they cannot be."""
    try:
        return decompress(header.codec, batch[HEADER_SIZE:], MAX_DECODED_BYTES)
    except CodecError as error:
        raise CorruptBatch(str(error)) from error


def leave(batch: memoryview, header: BatchHeader, keys: OffsetMap, now: Round) -> bytes | memoryview | None:
    """What stays of this batch; None when nothing does."""
    if header.is_control:
        return _leave_marker(batch, header, now)
    if now.transactions.is_aborted(header):
        return _leave_empty(header, now)
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
        return _leave_empty(header, now)
    if sifted.payload is None:
        return batch
    changed = header._replace(records_count=sifted.kept)
    if not header.is_log_append_time:
        changed = changed._replace(max_timestamp=sifted.max_timestamp)
    if sifted.rebased:
        attributes = header.attributes | DELETE_HORIZON_FLAG
        changed = changed._replace(attributes=attributes, base_timestamp=_horizon(now))
    return build(changed, compress(header.codec, sifted.payload))


def _leave_marker(batch: memoryview, header: BatchHeader, now: Round) -> bytes | memoryview | None:
    """A marker whose transaction is gone is dated at the first visit, and goes when that time has come."""
    marker = read_marker(batch)
    if not now.transactions.is_over(header, marker):
        return batch
    horizon = header.delete_horizon_ms
    if marker is not None and horizon is None:
        return with_delete_horizon(batch, _horizon(now))
    if marker is not None and horizon is not None and now.now_ms < horizon:
        return batch
    return _leave_empty(header, now)


def _horizon(now: Round) -> int:
    """When tombstones that are seen in this round for the first time may go."""
    return min(_INT64_MAX, now.now_ms + now.delete_retention_ms)


def _stays_empty(header: BatchHeader, now: Round) -> bool:
    if header.next_offset == now.end:
        return True
    producer = now.producers.get(header.producer_id)
    if producer is None:
        return False
    if producer.last_offset != NO_OFFSET:
        return producer.last_offset == header.last_offset
    return header.is_control and producer.producer_epoch == header.producer_epoch


def _leave_empty(header: BatchHeader, now: Round) -> bytes | None:
    if not _stays_empty(header, now):
        return None
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG)
    return build(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0), b"")
