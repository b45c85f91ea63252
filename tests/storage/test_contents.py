"""What a log says of the records inside a producer's batch, with Kafka's codes and words."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.records.batch import HEADER_SIZE, build, check_crc, read_header
from penstock.records.codecs import Codec, compress
from penstock.records.record import Record, encode_batch
from penstock.settings.topic import TopicSettings
from penstock.storage.contents import MOST_RECORD_ERRORS, InvalidRecords, check_records
from tests.storage.builders import NOW_MS, batch, settings

COMPACTED = settings(cleanup_policy=("compact",))
HOUR_MS = 3_600_000


def checked(data: memoryview | bytes, topic_settings: TopicSettings | None = None) -> Any:
    view = memoryview(data)
    return check_records(view, read_header(view), topic_settings or settings(), NOW_MS, "orders-3")


def refusal(data: memoryview | bytes, topic_settings: TopicSettings | None = None) -> InvalidRecords:
    with pytest.raises(InvalidRecords) as caught:
        checked(data, topic_settings)
    return caught.value


def rebuilt(data: memoryview, body: bytes, **changes: Any) -> bytes:
    return build(read_header(data)._replace(**changes), body)


@pytest.mark.parametrize("codec", list(Codec))
def test_good_records_are_taken_in_every_codec(codec: Codec) -> None:
    data = batch(b"a", b"b" * 1000, codec=codec)
    assert checked(data, COMPACTED) == read_header(data)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_compacted_topic_takes_no_record_without_a_key(codec: Codec) -> None:
    keyless = [Record(b"key", b"a", timestamp_ms=NOW_MS), Record(None, b"b", timestamp_ms=NOW_MS)]
    data = memoryview(encode_batch(keyless, codec=codec))
    checked(data)
    told = "Compacted topic cannot accept message without key in topic partition orders-3"
    error = refusal(data, COMPACTED)
    assert error.code == ErrorCode.INVALID_RECORD
    assert error.record_errors == ((1, told),)
    assert told in error.message


@pytest.mark.parametrize("codec", list(Codec))
def test_every_refused_record_is_named(codec: Codec) -> None:
    told = "Compacted topic cannot accept message without key in topic partition orders-3"
    keys = (None, b"k", None, None, b"k", None)
    data = memoryview(encode_batch([Record(key, b"", timestamp_ms=NOW_MS) for key in keys], codec=codec))
    error = refusal(data, COMPACTED)
    assert error.code == ErrorCode.INVALID_RECORD
    assert error.record_errors == tuple((index, told) for index in (0, 2, 3, 5))
    first_three = ", ".join(f"RecordError(batchIndex={index}, message='{told}')" for index in (0, 2, 3))
    assert error.message == (
        "One or more records have been rejected due to 4 record errors in total, and only showing the first "
        f"three errors at most: [{first_three}]"
    )


def test_one_wrong_timestamp_makes_the_answer_about_timestamps_and_still_names_keys() -> None:
    topic = settings(cleanup_policy=("compact",), message_timestamp_after_max_ms=HOUR_MS)
    late = NOW_MS + HOUR_MS + 1
    records = [
        Record(None, b"", timestamp_ms=late),
        Record(b"k", b"", timestamp_ms=late),
        Record(b"k", b"", timestamp_ms=NOW_MS),
    ]
    error = refusal(memoryview(encode_batch(records)), topic)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert error.message == "One or more records have been rejected due to invalid timestamp"
    assert [index for index, _ in error.record_errors] == [0, 1]
    assert error.record_errors[0][1].startswith("Compacted topic cannot accept")
    assert error.record_errors[1][1].startswith(f"Timestamp {late} of message with offset 1 is out of range.")


def test_a_batch_of_very_many_refused_records_names_some_of_them_and_counts_all() -> None:
    count = MOST_RECORD_ERRORS + 1000
    records = [Record(None, b"", timestamp_ms=NOW_MS)] * count
    error = refusal(memoryview(encode_batch(records, codec=Codec.ZSTD)), COMPACTED)
    assert len(error.record_errors) == MOST_RECORD_ERRORS
    assert f"due to {count} record errors in total" in error.message


@pytest.mark.parametrize("codec", list(Codec))
def test_counts_sizes_and_offsets_of_records_must_hold(codec: Codec) -> None:
    data = batch(b"a", b"b")
    payload = bytes(data[HEADER_SIZE:])
    first = len(batch(b"a")) - HEADER_SIZE
    for body in (payload[:-1], payload + b"\x00", payload[:first], payload[first:] + payload[:first], b""):
        broken = rebuilt(data, compress(codec, body), attributes=int(codec))
        assert refusal(broken).code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_cannot_be_unpacked_is_refused(codec: Codec) -> None:
    nonsense = rebuilt(batch(b"a"), b"this is no stream of any codec", attributes=int(codec))
    assert refusal(nonsense).code == ErrorCode.INVALID_RECORD


def test_a_codec_that_does_not_exist_is_refused() -> None:
    data = batch(b"a")
    assert refusal(rebuilt(data, bytes(data[HEADER_SIZE:]), attributes=7)).code == ErrorCode.INVALID_RECORD


def test_a_batch_that_unpacks_to_more_than_is_decent_is_refused() -> None:
    bomb = rebuilt(batch(b"a"), compress(Codec.ZSTD, bytes(300 * 1024 * 1024)), attributes=int(Codec.ZSTD))
    assert len(bomb) < 100_000
    assert refusal(bomb).code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("timestamp_ms", [NOW_MS - HOUR_MS - 1, NOW_MS + HOUR_MS + 1])
def test_every_record_keeps_the_bounds_of_timestamps(timestamp_ms: int) -> None:
    bounded = settings(message_timestamp_before_max_ms=HOUR_MS, message_timestamp_after_max_ms=HOUR_MS)
    times = (NOW_MS, timestamp_ms, NOW_MS)
    data = memoryview(encode_batch([Record(b"key", b"", timestamp_ms=time) for time in times]))
    error = refusal(data, bounded)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert error.record_errors[0][0] == 1
    stamped = settings(message_timestamp_type="LogAppendTime", message_timestamp_after_max_ms=0)
    checked(data, stamped)


def test_a_max_timestamp_that_no_record_has_is_put_right() -> None:
    data = batch(b"a", b"b")
    wrong = memoryview(bytearray(rebuilt(data, bytes(data[HEADER_SIZE:]), max_timestamp=NOW_MS + HOUR_MS)))
    header = checked(wrong)
    assert header.max_timestamp == NOW_MS + 1
    assert read_header(wrong) == header
    check_crc(wrong, 0, header)
