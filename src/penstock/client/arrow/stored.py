"""Stored batches into columns."""

from __future__ import annotations

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import HEADER_SIZE, CorruptBatch
from penstock.records.codecs import CodecError, decompress
from penstock.records.record import MAX_DECODED_BYTES
from penstock.records.walk import ColumnBuilder
from penstock.wire.fetch import Batch


class UnreadableBatch(RuntimeError):
    """A batch whose bytes arrived as they were stored, and are not records."""


def add_stored(builder: ColumnBuilder, batch: Batch, partition: TopicPartition, start: int, end: int) -> None:
    """Its records with offsets from `start` on and before `end`."""
    header = batch.header
    try:
        payload = decompress(header.codec, batch.data[HEADER_SIZE:], MAX_DECODED_BYTES)
        builder.add(
            payload,
            header.records_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else None,
            start,
            end,
        )
    except (CorruptBatch, CodecError) as error:
        raise UnreadableBatch(
            f"the batch at offsets {header.base_offset} to {header.last_offset} of {partition} "
            f"is broken: {error}"
        ) from error
