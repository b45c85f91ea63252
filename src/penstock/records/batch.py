"""The header of a record batch (magic 2), as it stands on the wire and on disk.

A batch stays opaque to the broker: its header is read, its CRC checked, base offset and leader epoch written
in place (both stand before the CRC and outside it). What is inside a batch is read by
`penstock.records.record` (one batch, Python objects) and `penstock.records.walk` (many records, columns).
Storage, handlers and the wire client call this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from penstock.records.codecs import Codec

Bytes: TypeAlias = bytes | bytearray | memoryview

HEADER_SIZE = 61
MAGIC = 2
# Base offset and length stand before what the length counts.
LENGTH_OVERHEAD = 12
CRC_POSITION = 17
# The CRC covers everything from the attributes to the end of the batch.
CRC_START = 21
_MAX_TIMESTAMP_POSITION = 35

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

HEADER = Struct(">qiibIhiqqqhii")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")
_CRC = Struct(">I")


class CorruptBatch(Exception):
    """The bytes are not a whole, valid batch."""


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records."""

    base_offset: int
    batch_length: int
    """Bytes after this field: the whole batch without its first twelve bytes."""
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, header and all."""
        return self.batch_length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        """The codec of the records; `CorruptBatch` when the number is none that exists."""
        try:
            return Codec(self.attributes & CODEC_MASK)
        except ValueError:
            raise CorruptBatch(f"compression codec {self.attributes & CODEC_MASK} does not exist") from None

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_FLAG)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop the batch's tombstones; set by its first visit (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; sequences wrap from 2^31-1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def read_header(buffer: Bytes, position: int = 0) -> BatchHeader:
    """The header at `position`. Its length is sane; magic, CRC and the rest of the batch go unchecked."""
    if len(buffer) - position < HEADER_SIZE:
        raise CorruptBatch(f"{max(0, len(buffer) - position)} bytes are too few for a batch header")
    header = BatchHeader._make(HEADER.unpack_from(buffer, position))
    if header.batch_length < HEADER_SIZE - LENGTH_OVERHEAD:
        raise CorruptBatch(f"batch length {header.batch_length} is smaller than a header")
    return header


def iter_headers(buffer: Bytes, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Every whole batch from `position` on, with its position; a partial last batch ends the walk."""
    end = len(buffer)
    while end - position >= HEADER_SIZE:
        header = read_header(buffer, position)
        following = position + header.batch_length + LENGTH_OVERHEAD
        if following > end:
            return
        yield position, header
        position = following


def compute_crc(buffer: Bytes, position: int, size_bytes: int) -> int:
    """CRC32C of the batch at `position`, over the bytes that its CRC field covers."""
    covered = memoryview(buffer)[position + CRC_START : position + size_bytes]
    if len(covered) != size_bytes - CRC_START:
        raise CorruptBatch("the batch is cut short")
    return crc32c(covered)


def check_crc(buffer: Bytes, position: int, header: BatchHeader) -> None:
    """Raise `CorruptBatch` unless the batch is whole and its CRC holds."""
    computed = compute_crc(buffer, position, header.size_bytes)
    if computed != header.crc:
        raise CorruptBatch(f"CRC is {computed:#010x}, the header says {header.crc:#010x}")


def assign(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Write base offset and leader epoch into the batch, in place; the CRC covers neither."""
    _BASE_OFFSET.pack_into(buffer, position, base_offset)
    _LEADER_EPOCH.pack_into(buffer, position + LENGTH_OVERHEAD, leader_epoch)


def assign_log_append_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, now_ms: int
) -> None:
    """Make `now_ms` the time of every record of the batch: attributes, max timestamp, the CRC over them."""
    _ATTRIBUTES.pack_into(buffer, position + CRC_START, header.attributes | LOG_APPEND_TIME_FLAG)
    _MAX_TIMESTAMP.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, now_ms)
    _CRC.pack_into(buffer, position + CRC_POSITION, compute_crc(buffer, position, header.size_bytes))


def assign_max_timestamp(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, max_timestamp: int
) -> BatchHeader:
    """Write another max timestamp into the batch, with the CRC over it; the header as it is then."""
    _MAX_TIMESTAMP.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, max_timestamp)
    crc = compute_crc(buffer, position, header.size_bytes)
    _CRC.pack_into(buffer, position + CRC_POSITION, crc)
    return header._replace(max_timestamp=max_timestamp, crc=crc)


def build(header: BatchHeader, body: Bytes) -> bytes:
    """A batch with these records and this header; its length and its CRC are made to fit."""
    batch = bytearray(HEADER_SIZE)
    batch += body
    fitted = header._replace(batch_length=len(batch) - LENGTH_OVERHEAD, magic=MAGIC, crc=0)
    HEADER.pack_into(batch, 0, *fitted)
    _CRC.pack_into(batch, CRC_POSITION, compute_crc(batch, 0, len(batch)))
    return bytes(batch)
