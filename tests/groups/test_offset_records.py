"""Committed offsets as records: Kafka's bytes, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.groups.offset_records import (
    CommittedOffset,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from penstock.groups.record_keys import KeyKind, read_kind

KEY = OffsetKey("g", "t", 3)
names = st.text(max_size=30)


@given(names, names, st.integers(0, 2**31 - 1))
def test_a_key_comes_back_as_it_went(group: str, topic: str, partition: int) -> None:
    key = OffsetKey(group, topic, partition)
    kind, reader = read_kind(encode_key(key))
    assert kind is KeyKind.OFFSET_COMMIT
    assert decode_key(reader) == key


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


def test_a_value_with_an_expiry_of_its_own_is_of_the_only_version_that_has_one() -> None:
    value = CommittedOffset(42, -1, "m", 5, 6)
    assert encode_value(value)[:2] == b"\x00\x01"
    assert decode_value(encode_value(value)) == value


def test_the_newest_value_of_kafka_is_read() -> None:
    version_4 = b"\x00\x04" + (42).to_bytes(8, "big") + (7).to_bytes(4, "big") + b"\x02m"
    assert decode_value(version_4 + (5).to_bytes(8, "big") + b"\x00") == CommittedOffset(42, 7, "m", 5)
