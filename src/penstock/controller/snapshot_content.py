"""What is inside a snapshot of the metadata, in Kafka's format: a header, the voters where they are named,
records in batches, and a footer. Bytes in, values out, and back.

`bootstrap.checkpoint` has the same format. `kafka-storage format` writes it into each log directory, and the
first active controller of a new cluster takes its records over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.controller.metadata_records import MetadataRecord, decode, encode
from penstock.raft.control_records import snapshot_footer, snapshot_header, voters_batch
from penstock.raft.voters import VoterSet
from penstock.records.batch import assign, iter_headers, read_header
from penstock.records.record import Record, decode_batch, encode_batch

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
_RECORDS_PER_BATCH: Final = 1000

Values = list[bytes]


def snapshot_bytes(
    values: Sequence[bytes], now_ms: int, epoch: int = 0, voters: VoterSet | None = None
) -> bytes:
    """A whole snapshot of these records."""
    pieces = [snapshot_header(now_ms, now_ms)]
    if voters is not None:
        pieces.append(voters_batch(voters, now_ms))
    for first in range(0, len(values), _RECORDS_PER_BATCH):
        records = [Record(None, value, (), now_ms) for value in values[first : first + _RECORDS_PER_BATCH]]
        pieces.append(bytes(encode_batch(records)))
    pieces.append(snapshot_footer(now_ms))
    return _consecutive(pieces, epoch)


def batches(data: bytes) -> Iterator[tuple[int, int, Values]]:
    """The offset behind each batch, its size and its records; none for a control batch."""
    for position, header in iter_headers(data):
        values: Values = []
        if not header.is_control:
            records = decode_batch(data, position)
            values = [record.value for record in records if record.value is not None]
        yield header.next_offset, header.size_bytes, values


def snapshot_values(data: bytes) -> Values:
    """The records of a snapshot."""
    return [value for _, _, values in batches(data) for value in values]


def bootstrap_bytes(records: Sequence[MetadataRecord], now_ms: int) -> bytes:
    return snapshot_bytes([encode(record) for record in records], now_ms)


def bootstrap_records(data: bytes) -> list[MetadataRecord]:
    return [decode(value) for value in snapshot_values(data)]


def _consecutive(pieces: list[bytes], epoch: int) -> bytes:
    """The batches of a snapshot count from 0 on, as a log of their own."""
    data = bytearray()
    offset = 0
    for batch in pieces:
        position = len(data)
        data += batch
        assign(data, position, offset, epoch)
        offset = read_header(data, position).next_offset
    return bytes(data)
