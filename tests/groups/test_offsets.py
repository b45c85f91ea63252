"""Committed offsets: records in Kafka's layout, decisions, replay, and the shard of a group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.groups.coordinator import shard_of
from penstock.groups.offset_records import (
    CommittedOffset,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from penstock.groups.offsets import SIMPLE_CONSUMER, CommittedOffsets
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record

KEY = OffsetKey("g", "t", 3)
names = st.text(max_size=30)


@given(names, names, st.integers(0, 2**31 - 1))
def test_a_key_comes_back_as_it_went(group: str, topic: str, partition: int) -> None:
    key = OffsetKey(group, topic, partition)
    assert decode_key(encode_key(key)) == key


@given(st.integers(-1, 2**63 - 1), st.integers(-1, 2**31 - 1), names, st.integers(0, 2**62))
def test_a_value_comes_back_as_it_went(offset: int, epoch: int, metadata: str, time: int) -> None:
    value = CommittedOffset(offset, epoch, metadata, time)
    assert decode_value(encode_value(value)) == value


def test_key_and_value_have_kafkas_bytes() -> None:
    assert encode_key(KEY) == b"\x00\x01" + b"\x00\x01g" + b"\x00\x01t" + b"\x00\x00\x00\x03"
    value = encode_value(CommittedOffset(42, 7, "m", 1))
    assert value == b"\x00\x03" + (42).to_bytes(8, "big") + b"\x00\x00\x00\x07" + b"\x00\x01m" + (1).to_bytes(
        8, "big"
    )


def test_older_values_of_kafka_are_read() -> None:
    version_1 = (
        b"\x00\x01" + (42).to_bytes(8, "big") + b"\x00\x01m" + (5).to_bytes(8, "big") + (6).to_bytes(8, "big")
    )
    assert decode_value(version_1) == CommittedOffset(42, -1, "m", 5)


def test_the_record_of_a_group_itself_is_passed_over() -> None:
    assert decode_key(b"\x00\x02\x00\x01g") is None


def test_a_commit_is_seen_after_replay_and_not_before() -> None:
    offsets = CommittedOffsets(4096)
    record = offsets.decide_commit(KEY, CommittedOffset(42, -1, "", 5), SIMPLE_CONSUMER)
    assert offsets.of("g") == {}
    offsets.replay([record])
    assert offsets.of("g")["t", 3].offset == 42


def test_a_tombstone_takes_the_commit_back() -> None:
    offsets = CommittedOffsets(4096)
    offsets.replay([offsets.decide_commit(KEY, CommittedOffset(42, -1, "", 5), SIMPLE_CONSUMER)])
    offsets.replay([Record(encode_key(KEY), None)])
    assert offsets.of("g") == {}


@pytest.mark.parametrize(
    ("key", "metadata", "generation", "code"),
    [
        (OffsetKey("", "t", 0), "", SIMPLE_CONSUMER, ErrorCode.INVALID_GROUP_ID),
        (KEY, "x" * 11, SIMPLE_CONSUMER, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        (KEY, "é" * 6, SIMPLE_CONSUMER, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        (KEY, "", 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_commit_that_must_not_be_is_refused(
    key: OffsetKey, metadata: str, generation: int, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as error:
        CommittedOffsets(10).decide_commit(key, CommittedOffset(1, -1, metadata, 0), generation)
    assert error.value.code is code


@pytest.mark.parametrize(
    ("group", "shard"),
    # Java: Math.abs(group.hashCode()) % 50, with the smallest int as 0
    [("", 0), ("g", 3), ("my-group", 12), ("polygenelubricants", 0), ("ü", 2), ("😀", 49)],
)
def test_a_group_lives_where_kafka_would_put_it(group: str, shard: int) -> None:
    assert shard_of(group, 50) == shard
