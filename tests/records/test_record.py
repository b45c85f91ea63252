"""Records as objects: what is encoded comes back, and nothing malformed gets through."""

from __future__ import annotations

import pytest

from penstock.records.batch import HEADER_SIZE, CorruptBatch, compute_crc
from penstock.records.codecs import Codec
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.records.varint import write_varlong


def sealed(batch: bytearray) -> bytearray:
    """The batch with length and CRC made right again."""
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[17:21] = compute_crc(batch, 0, len(batch)).to_bytes(4, "big")
    return batch


def batch_with(payload: bytes, count: int = 1) -> bytearray:
    batch = encode_batch([Record(None, None)])
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    return sealed(batch[:HEADER_SIZE] + payload)


def record_with(*fields: int, tail: bytes = b"") -> bytes:
    body = bytearray(1)
    for field in fields:
        write_varlong(body, field)
    out = bytearray()
    write_varlong(out, len(body) + len(tail))
    return bytes(out + body + tail)


@pytest.mark.parametrize("codec", list(Codec))
def test_keys_values_headers_and_timestamps_come_back(codec: Codec) -> None:
    records = [
        Record(b"key", b"value", (("h", b"1"), ("h", None), ("größe", b"")), 1700000000000),
        Record(None, None, (), 1699999999000),
        Record(b"", b"", (), 1700000000001),
    ]
    decoded = decode_batch(encode_batch(records, base_offset=40, codec=codec))
    assert decoded == [record._replace(offset=40 + index) for index, record in enumerate(records)]


def test_a_batch_is_found_at_its_position() -> None:
    first = encode_batch([Record(b"a", None)])
    second = encode_batch([Record(b"b", None)])
    assert decode_batch(first + second, len(first))[0].key == b"b"


def test_an_empty_batch_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="at least one"):
        encode_batch([])


def test_another_magic_is_refused() -> None:
    batch = encode_batch([Record(None, None)])
    batch[16] = 1
    with pytest.raises(CorruptBatch, match="magic 1"):
        decode_batch(batch)


def test_a_broken_crc_is_refused() -> None:
    batch = encode_batch([Record(b"key", b"value")])
    batch[-1] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        decode_batch(batch)


@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1])
def test_a_count_that_the_bytes_cannot_hold_is_refused(count: int) -> None:
    with pytest.raises(CorruptBatch):
        decode_batch(batch_with(record_with(0, 0, -1, -1, 0), count))


@pytest.mark.parametrize(
    "payload",
    [
        record_with(0, 0, -2, -1, 0),
        record_with(0, 0, 100, -1, 0),
        record_with(0, 0, -1, 100, 0),
        record_with(0, 0, -1, -1, -1),
        record_with(0, 0, -1, -1, 100),
        record_with(0, 0, -1, -1, 1, -1, 0),
        record_with(0, 0, -1, -1, 0, tail=b"more"),
        record_with(0, 0, -1, -1, 0)[:-1],
        record_with(0, 0, -1, -1, 0) + b"more",
        record_with(0, 0, -1, -1, 1, 2, tail=b"\xff\xfe\x01"),
        b"\x01" * 7,
        b"\xff" * 20,
    ],
    ids=[
        "negative key length",
        "key beyond the record",
        "value beyond the record",
        "negative header count",
        "more headers than bytes",
        "null header key",
        "bytes after the last field",
        "cut record",
        "bytes after the last record",
        "header key that is no text",
        "negative record length",
        "endless varint",
    ],
)
def test_malformed_records_are_refused(payload: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode_batch(batch_with(payload))


def test_a_payload_that_does_not_decompress_is_refused() -> None:
    batch = encode_batch([Record(b"key", b"value" * 100)], codec=Codec.ZSTD)
    batch[HEADER_SIZE] ^= 0xFF
    with pytest.raises(CorruptBatch, match="zstd"):
        decode_batch(sealed(batch))


def test_a_payload_that_exceeds_the_bound_is_refused() -> None:
    batch = encode_batch([Record(None, bytes(100_000))], codec=Codec.GZIP)
    with pytest.raises(CorruptBatch, match="bound"):
        decode_batch(batch, max_bytes=50_000)
