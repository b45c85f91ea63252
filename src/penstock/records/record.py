"""Records as Python objects, and batches made of them: for internal topics, tools and tests.

The hot paths never come here: the broker keeps batches opaque and the walk turns many records into columns.
Both functions speak of one batch at a time and touch no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.records.batch import (
    CONTROL_FLAG,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Bytes,
    CorruptBatch,
    check_crc,
    compute_crc,
    read_header,
)
from penstock.records.codecs import Codec, CodecError, compress, decompress
from penstock.records.varint import MalformedVarint, read_varint, read_varlong, write_varlong

# What one batch may decompress to. Kafka knows no such bound; a batch of the default size has no honest use
# for more.
MAX_DECODED_BYTES = 256 * 1024 * 1024
# Length, attributes, two deltas, key and value length, number of headers: one byte each at least.
_SMALLEST_RECORD_BYTES = 7


class Record(NamedTuple):
    """One item of a log."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = NO_TIMESTAMP
    offset: int = -1
    """Where it stands in its log; says nothing in a record that is still to be written."""


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = NO_LEADER_EPOCH,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """One batch with `records` at consecutive offsets from `base_offset` on."""
    records = list(records)
    if not records:
        raise ValueError("a batch holds at least one record")
    base_timestamp = records[0].timestamp_ms
    max_timestamp = max(record.timestamp_ms for record in records)
    payload = bytearray()
    for offset_delta, record in enumerate(records):
        _write_record(payload, record, record.timestamp_ms - base_timestamp, offset_delta)
    body = compress(codec, payload) if codec is not Codec.NONE else payload
    batch = bytearray(HEADER_SIZE)
    batch += body
    attributes = codec | (TRANSACTIONAL_FLAG if transactional else 0) | (CONTROL_FLAG if control else 0)

    fields = (
        *(attributes, len(records) - 1, base_timestamp, max_timestamp),
        *(producer_id, producer_epoch, base_sequence, len(records)),
    )
    length = len(batch) - LENGTH_OVERHEAD
    HEADER.pack_into(batch, 0, base_offset, length, leader_epoch, MAGIC, 0, *fields)
    crc = compute_crc(batch, 0, len(batch))
    HEADER.pack_into(batch, 0, base_offset, length, leader_epoch, MAGIC, crc, *fields)
    return batch


def decode_batch(buffer: Bytes, position: int = 0, *, max_bytes: int = MAX_DECODED_BYTES) -> list[Record]:
    """The records of the batch at `position`; `CorruptBatch` when anything about it is wrong."""
    header = read_header(buffer, position)
    if header.magic != MAGIC:
        raise CorruptBatch(f"magic {header.magic} is not {MAGIC}")
    check_crc(buffer, position, header)
    body = memoryview(buffer)[position + HEADER_SIZE : position + header.size_bytes]
    try:
        payload = bytes(decompress(header.codec, body, max_bytes))
        # A count larger than the bytes can hold is refused before anything is made of it.
        if not 0 <= header.records_count <= len(payload) // _SMALLEST_RECORD_BYTES:
            raise CorruptBatch(f"{header.records_count} records do not fit in {len(payload)} bytes")
        return list(_read_records(payload, header))
    except (CodecError, MalformedVarint, UnicodeDecodeError) as error:
        raise CorruptBatch(str(error)) from error


def _write_record(out: bytearray, record: Record, timestamp_delta: int, offset_delta: int) -> None:
    body = bytearray(1)  # attributes: none are defined
    write_varlong(body, timestamp_delta)
    write_varlong(body, offset_delta)
    _write_nullable(body, record.key)
    _write_nullable(body, record.value)
    write_varlong(body, len(record.headers))
    for key, value in record.headers:
        _write_nullable(body, key.encode())
        _write_nullable(body, value)
    write_varlong(out, len(body))
    out += body


def _write_nullable(out: bytearray, value: bytes | None) -> None:
    if value is None:
        write_varlong(out, -1)
    else:
        write_varlong(out, len(value))
        out += value


def _read_records(payload: bytes, header: BatchHeader) -> Iterator[Record]:
    position = 0
    for _ in range(header.records_count):
        record, position = _read_record(payload, position, header)
        yield record
    if position != len(payload):
        raise CorruptBatch(f"{len(payload) - position} bytes are left after the last record")


def _read_record(payload: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    size, position = read_varint(payload, position)
    end = position + size
    if size < 0 or end > len(payload):
        raise CorruptBatch(f"a record of {size} bytes does not fit in its batch")
    position += 1  # attributes: none are defined
    timestamp_delta, position = read_varlong(payload, position)
    offset_delta, position = read_varint(payload, position)
    key, position = _read_nullable(payload, position, end)
    value, position = _read_nullable(payload, position, end)
    headers, position = _read_headers(payload, position, end)
    if position != end:
        raise CorruptBatch("a record's length does not match its fields")
    timestamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + timestamp_delta
    return Record(key, value, headers, timestamp, header.base_offset + offset_delta), end


def _read_headers(
    payload: bytes, position: int, end: int
) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, position = read_varint(payload, position)
    if not 0 <= count <= end - position:
        raise CorruptBatch(f"{count} headers do not fit in a record")
    headers = []
    for _ in range(count):
        key, position = _read_nullable(payload, position, end)
        if key is None:
            raise CorruptBatch("a header without a key")
        value, position = _read_nullable(payload, position, end)
        headers.append((key.decode(), value))
    return tuple(headers), position


def _read_nullable(payload: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_varint(payload, position)
    if size == -1:
        return None, position
    if size < 0 or position + size > end:
        raise CorruptBatch(f"a field of {size} bytes does not fit in its record")
    return payload[position : position + size], position + size
