"""Batch headers: every field in its place, CRC, and what is written into them in place."""

from __future__ import annotations

import pytest

from penstock.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    assign,
    assign_log_append_time,
    check_crc,
    iter_headers,
    read_header,
)
from penstock.records.codecs import Codec
from penstock.records.record import Record, decode_batch, encode_batch

# Written by hand after the specification, its CRC left open: key "key", value "value", no headers.
BY_HAND = bytes.fromhex(
    "0000000000000000" "00000040" "ffffffff" "02" "00000000" "0000" "00000000" "0000018bcfe56800"
    "0000018bcfe56800" "ffffffffffffffff" "ffff" "ffffffff" "00000001" "1c" "00" "00" "00" "06" "6b6579"
    "0a" "76616c7565" "00"
)  # fmt: skip


def batch_of(count: int = 3, **options: object) -> bytearray:
    records = [Record(b"k%d" % index, b"v", timestamp_ms=1000 + index) for index in range(count)]
    return encode_batch(records, **options)  # type: ignore[arg-type]


def test_a_header_says_what_was_encoded() -> None:
    batch = batch_of(
        3, base_offset=70, codec=Codec.ZSTD, producer_id=9, producer_epoch=2, base_sequence=5, leader_epoch=4
    )
    header = read_header(batch)
    assert header == BatchHeader(
        base_offset=70,
        batch_length=len(batch) - 12,
        leader_epoch=4,
        magic=2,
        crc=header.crc,
        attributes=Codec.ZSTD,
        last_offset_delta=2,
        base_timestamp=1000,
        max_timestamp=1002,
        producer_id=9,
        producer_epoch=2,
        base_sequence=5,
        records_count=3,
    )
    assert (header.size_bytes, header.last_offset, header.next_offset) == (len(batch), 72, 73)
    assert (header.codec, header.last_sequence) == (Codec.ZSTD, 7)


def test_flags_are_read_from_the_attributes() -> None:
    plain = read_header(batch_of())
    assert not any((plain.is_control, plain.is_transactional, plain.is_log_append_time))
    marked = read_header(batch_of(transactional=True, control=True))
    assert marked.is_control
    assert marked.is_transactional


def test_sequences_wrap_after_the_largest() -> None:
    header = read_header(batch_of(3, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2))
    assert header.last_sequence == 0


def test_a_layout_written_by_hand_after_the_specification_is_understood() -> None:
    record = Record(b"key", b"value", timestamp_ms=1700000000000)
    encoded = encode_batch([record])
    assert encoded[:17] + bytes(4) + encoded[21:] == BY_HAND
    header = read_header(BY_HAND)
    assert (header.size_bytes, header.records_count, header.leader_epoch) == (len(BY_HAND), 1, -1)
    assert decode_batch(BY_HAND[:17] + encoded[17:21] + BY_HAND[21:]) == [record._replace(offset=0)]


@pytest.mark.parametrize("size", [0, 1, HEADER_SIZE - 1])
def test_too_few_bytes_are_no_header(size: int) -> None:
    with pytest.raises(CorruptBatch, match="too few"):
        read_header(bytes(batch_of())[:size])


def test_a_length_smaller_than_a_header_is_refused() -> None:
    batch = batch_of()
    batch[8:12] = (48).to_bytes(4, "big")
    with pytest.raises(CorruptBatch, match="smaller"):
        read_header(batch)


def test_a_codec_that_does_not_exist_is_refused() -> None:
    with pytest.raises(CorruptBatch, match="codec 7"):
        read_header(batch_of())._replace(attributes=7).codec  # noqa: B018


def test_headers_are_walked_up_to_a_partial_last_batch() -> None:
    batches = batch_of(1, base_offset=0) + batch_of(2, base_offset=1) + batch_of(1, base_offset=3)
    walked = list(iter_headers(batches[:-1]))
    assert [header.base_offset for _, header in walked] == [0, 1]
    assert [position for position, _ in walked] == [0, walked[0][1].size_bytes]


def test_a_sound_crc_is_accepted_at_any_position() -> None:
    batch = batch_of()
    buffer = b"...." + batch
    check_crc(buffer, 4, read_header(buffer, 4))


def test_every_flipped_bit_behind_the_crc_is_noticed() -> None:
    batch = batch_of(1)
    header = read_header(batch)
    for position in range(21, len(batch)):
        for bit in range(8):
            batch[position] ^= 1 << bit
            with pytest.raises(CorruptBatch, match="CRC"):
                check_crc(batch, 0, header)
            batch[position] ^= 1 << bit


def test_a_batch_cut_short_has_no_crc() -> None:
    batch = batch_of()
    with pytest.raises(CorruptBatch, match="cut short"):
        check_crc(batch[:-1], 0, read_header(batch))


def test_offset_and_epoch_are_assigned_without_touching_the_crc() -> None:
    batch = batch_of()
    view = memoryview(batch)
    assign(view, 0, 1 << 40, 17)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 17)
    check_crc(batch, 0, header)


def test_log_append_time_becomes_the_time_of_every_record() -> None:
    batch = batch_of(3)
    assign_log_append_time(batch, 0, read_header(batch), 5_000)
    assert read_header(batch).is_log_append_time
    assert [record.timestamp_ms for record in decode_batch(batch)] == [5_000] * 3
