"""Any records survive any codec; no bytes, however mutated, make decoding do anything but refuse."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from penstock.records.batch import CorruptBatch, check_crc, iter_headers, read_header
from penstock.records.codecs import Codec, CodecError, compress, decompress
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.records.varint import read_varlong, write_varlong

nullable = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), nullable), max_size=3).map(tuple)
records = st.builds(Record, nullable, nullable, headers, st.integers(-1, 2**41))
batches = st.lists(records, min_size=1, max_size=20)
codecs = st.sampled_from(list(Codec))


@given(batches, codecs, st.integers(0, 2**50))
def test_records_come_back_in_order_with_their_offsets(items: list[Record], codec: Codec, base: int) -> None:
    batch = encode_batch(items, base_offset=base, codec=codec)
    header = read_header(batch)
    check_crc(batch, 0, header)
    assert header.max_timestamp == max(record.timestamp_ms for record in items)
    assert decode_batch(batch) == [item._replace(offset=base + delta) for delta, item in enumerate(items)]


@given(st.lists(batches, min_size=1, max_size=5))
def test_batches_side_by_side_are_walked_one_by_one(many: list[list[Record]]) -> None:
    buffer = b"".join(encode_batch(items) for items in many)
    assert [header.records_count for _, header in iter_headers(buffer)] == [len(items) for items in many]


@given(codecs, st.binary(max_size=100_000))
def test_any_bytes_survive_any_codec(codec: Codec, data: bytes) -> None:
    assert bytes(decompress(codec, compress(codec, data), len(data))) == data


@given(codecs, st.binary(max_size=500))
def test_any_bytes_either_decompress_within_the_bound_or_are_refused(codec: Codec, data: bytes) -> None:
    with contextlib.suppress(CodecError):
        assert len(decompress(codec, data, 10_000)) <= 10_000


@given(batches, codecs, st.data())
def test_a_mutated_batch_is_refused_or_is_still_a_batch(
    items: list[Record], codec: Codec, data: st.DataObject
) -> None:
    batch = encode_batch(items, codec=codec)
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptBatch):
        decode_batch(batch)


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_number_survives_a_varlong(value: int) -> None:
    out = bytearray()
    write_varlong(out, value)
    assert read_varlong(out, 0) == (value, len(out))
