"""What a log takes and what it refuses, with the error code of each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import compute_crc
from penstock.settings.topic import TopicSettings
from penstock.storage.incoming import examine_fetched, examine_internal, examine_produced
from tests.storage.builders import NOW_MS, batch, settings

HOUR_MS = 3_600_000


def refusal(
    data: memoryview | bytearray | bytes,
    topic_settings: TopicSettings | None = None,
    now_ms: int = NOW_MS,
) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        examine_produced(memoryview(data), topic_settings or settings(), now_ms)
    return caught.value.code


def patched(position: int, replacement: bytes, **options: Any) -> bytearray:
    """A batch with other bytes at `position` and a CRC that is right for them."""
    data = bytearray(batch(b"a", b"b", **options))
    data[position : position + len(replacement)] = replacement
    data[17:21] = compute_crc(data, 0, len(data)).to_bytes(4, "big")
    return data


def test_a_good_batch_is_taken_from_anybody() -> None:
    good = batch(b"a")
    taken = (
        examine_produced(good, settings(), NOW_MS),
        examine_internal(good, settings()),
        examine_fetched(good),
    )
    assert [len(examined.headers) for examined in taken] == [1, 1, 1]


def test_coordinators_and_leaders_send_several_batches_at_once_and_clients_one() -> None:
    two = bytes(batch(b"a")) + bytes(batch(b"b"))
    assert len(examine_fetched(memoryview(two)).headers) == 2
    assert len(examine_internal(memoryview(two), settings()).headers) == 2
    assert refusal(two) == ErrorCode.INVALID_RECORD


def test_nothing_is_no_batch() -> None:
    assert refusal(b"") == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("missing", [1, 30, 70])
def test_a_batch_cut_short_is_corrupt_from_a_client_and_left_out_from_a_leader(missing: int) -> None:
    whole, cut = bytes(batch(b"a")), bytes(batch(b"b"))[:-missing]
    assert refusal(cut) == ErrorCode.CORRUPT_MESSAGE
    assert len(examine_fetched(memoryview(whole + cut)).headers) == 1


def test_a_broken_crc_is_corrupt_from_a_client_and_from_a_leader() -> None:
    data = bytearray(batch(b"a"))
    data[-1] ^= 1
    assert refusal(data) == ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(KafkaError) as caught:
        examine_fetched(memoryview(data))
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_a_length_that_is_impossible_is_corrupt() -> None:
    assert refusal(patched(8, (3).to_bytes(4, "big"))) == ErrorCode.CORRUPT_MESSAGE


def test_an_older_magic_is_refused() -> None:
    assert refusal(patched(16, b"\x01")) == ErrorCode.INVALID_RECORD


def test_a_batch_larger_than_max_message_bytes_is_too_large_except_from_the_leader() -> None:
    small = settings(max_message_bytes=80)
    assert refusal(batch(b"a" * 100), topic_settings=small) == ErrorCode.MESSAGE_TOO_LARGE
    assert len(examine_fetched(batch(b"a" * 100)).headers) == 1


@pytest.mark.parametrize("count", [-1, 0, 1, 3])
def test_the_count_must_match_the_offsets(count: int) -> None:
    assert refusal(patched(57, count.to_bytes(4, "big", signed=True))) == ErrorCode.INVALID_RECORD


def test_the_base_offset_of_a_new_batch_is_zero() -> None:
    assert refusal(batch(b"a", base_offset=5)) == ErrorCode.INVALID_RECORD


def test_clients_write_no_control_records() -> None:
    assert refusal(batch(b"a", control=True)) == ErrorCode.INVALID_RECORD
    assert len(examine_internal(batch(b"a", control=True), settings()).headers) == 1


def test_a_producer_id_needs_a_sequence() -> None:
    assert refusal(batch(b"a", producer_id=1, producer_epoch=0)) == ErrorCode.INVALID_RECORD


def test_a_transaction_without_a_producer_would_never_end() -> None:
    assert refusal(batch(b"a", transactional=True)) == ErrorCode.INVALID_RECORD


def test_producers_do_not_choose_when_tombstones_go() -> None:
    assert refusal(patched(21, b"\x00\x40")) == ErrorCode.INVALID_RECORD


def test_producers_do_not_choose_the_timestamp_type() -> None:
    assert refusal(patched(21, b"\x00\x08")) == ErrorCode.INVALID_TIMESTAMP


def test_a_timestamp_from_the_future_is_refused_beyond_the_bound() -> None:
    bounded = settings(message_timestamp_after_max_ms=HOUR_MS)
    assert examine_produced(batch(b"a", timestamp_ms=NOW_MS + HOUR_MS), bounded, NOW_MS)
    late = batch(b"a", timestamp_ms=NOW_MS + HOUR_MS + 1)
    assert refusal(late, topic_settings=bounded) == ErrorCode.INVALID_TIMESTAMP


def test_a_timestamp_from_the_past_is_refused_beyond_the_bound() -> None:
    bounded = settings(message_timestamp_before_max_ms=HOUR_MS)
    assert examine_produced(batch(b"a", timestamp_ms=NOW_MS - HOUR_MS), bounded, NOW_MS)
    early = batch(b"a", timestamp_ms=NOW_MS - HOUR_MS - 1)
    assert refusal(early, topic_settings=bounded) == ErrorCode.INVALID_TIMESTAMP


def test_timestamps_do_not_matter_when_the_broker_gives_its_own() -> None:
    own = settings(message_timestamp_type="LogAppendTime", message_timestamp_after_max_ms=HOUR_MS)
    assert examine_produced(batch(b"a", timestamp_ms=NOW_MS + 10 * HOUR_MS), own, NOW_MS)


def test_records_without_a_timestamp_are_taken() -> None:
    bounded = settings(message_timestamp_before_max_ms=HOUR_MS)
    assert examine_produced(batch(b"a", timestamp_ms=-1), bounded, NOW_MS)
