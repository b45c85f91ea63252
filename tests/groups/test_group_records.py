"""Records of groups: Kafka's bytes, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.groups import consumer_records as consumer
from penstock.groups.consumer_records import (
    ClassicMetadata,
    CurrentValue,
    MemberValue,
    Records,
    RegexValue,
    TopicValue,
)
from penstock.groups.embedded import decode_assignment, decode_subscription, encode_assignment
from penstock.groups.group_records import GroupValue, decode_value, encode_value
from penstock.groups.group_records import MemberValue as ClassicMemberValue
from penstock.groups.record_keys import KeyKind, read_kind
from tests.groups.stage import subscription

texts = st.text(max_size=20)
maybe = st.none() | texts
counts = st.integers(-1, 2**31 - 1)
data = st.binary(max_size=20)
topic_ids = st.binary(min_size=16, max_size=16)
assignments = st.dictionaries(
    topic_ids, st.frozensets(st.integers(0, 2**31 - 1), min_size=1, max_size=5), max_size=4
)
classic_members = st.builds(ClassicMemberValue, texts, maybe, texts, texts, counts, counts, data, data)


@given(
    st.builds(
        GroupValue,
        texts,
        counts,
        maybe,
        maybe,
        st.integers(-1, 2**62),
        st.lists(classic_members, max_size=4).map(tuple),
    )
)
def test_a_classic_group_comes_back_as_it_went(value: GroupValue) -> None:
    expected = tuple(
        member._replace(
            rebalance_timeout_ms=member.session_timeout_ms
            if member.rebalance_timeout_ms == -1
            else member.rebalance_timeout_ms
        )
        for member in value.members
    )
    assert decode_value(encode_value(value)) == value._replace(members=expected)


def test_a_classic_group_has_kafkas_bytes() -> None:
    member = ClassicMemberValue("m", "i", "c", "/h", 60_000, 10_000, b"S", b"A")
    value = GroupValue("consumer", 3, "range", "m", 5, (member,))
    assert encode_value(value) == (
        b"\x00\x03\x00\x08consumer\x00\x00\x00\x03\x00\x05range\x00\x01m"
        b"\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01"
        b"\x00\x01m\x00\x01i\x00\x01c\x00\x02/h\x00\x00\xea\x60\x00\x00\x27\x10"
        b"\x00\x00\x00\x01S\x00\x00\x00\x01A"
    )


def test_the_oldest_classic_group_of_kafka_is_read() -> None:
    version_0 = (
        b"\x00\x00\x00\x08consumer\x00\x00\x00\x03\xff\xff\xff\xff\x00\x00\x00\x01"
        b"\x00\x01m\x00\x01c\x00\x02/h\x00\x00\x27\x10\x00\x00\x00\x01S\x00\x00\x00\x00"
    )
    member = ClassicMemberValue("m", None, "c", "/h", 10_000, 10_000, b"S", b"")
    assert decode_value(version_0) == GroupValue("consumer", 3, None, None, -1, (member,))


classic_metadata = st.none() | st.builds(
    ClassicMetadata, counts, st.lists(st.tuples(texts, data), max_size=3).map(tuple)
)
members = st.builds(
    MemberValue,
    maybe,
    maybe,
    texts,
    texts,
    st.lists(texts, max_size=4).map(tuple),
    maybe,
    counts,
    maybe,
    classic_metadata,
)


@given(members)
def test_a_member_comes_back_as_it_went(value: MemberValue) -> None:
    assert consumer.decode_member(consumer.encode_member(value)) == value


@given(st.builds(CurrentValue, counts, counts, st.integers(0, 2), assignments, assignments))
def test_a_current_assignment_comes_back_as_it_went(value: CurrentValue) -> None:
    assert consumer.decode_current(consumer.encode_current(value)) == value


@given(assignments)
def test_a_target_comes_back_as_it_went(value: dict[bytes, frozenset[int]]) -> None:
    assert consumer.decode_target(consumer.encode_target(value)) == value


@given(st.lists(st.builds(TopicValue, topic_ids, texts, counts), max_size=4))
def test_topics_come_back_as_they_went(topics: list[TopicValue]) -> None:
    by_name = {topic.name: topic for topic in topics}
    assert consumer.decode_topics(consumer.encode_topics(by_name)) == by_name


@given(st.builds(RegexValue, st.lists(texts, max_size=4).map(tuple), st.just(3), st.just(5)))
def test_a_regular_expression_comes_back_as_it_went(value: RegexValue) -> None:
    assert consumer.decode_regex(consumer.encode_regex(value)) == value


def test_records_of_a_consumer_group_have_kafkas_keys_and_bytes() -> None:
    make = Records("g", 7)
    assert make.epoch(10).key == b"\x00\x03\x00\x01g"
    assert make.epoch(10).value == b"\x00\x00" + (10).to_bytes(4, "big") + b"\x00"
    assert make.topics({}).key == b"\x00\x04\x00\x01g"
    assert make.member("m", None) == (b"\x00\x05\x00\x01g\x00\x01m", None, (), 7, -1)
    assert make.target_epoch(1).key == b"\x00\x06\x00\x01g"
    assert make.target("m", {}).key == b"\x00\x07\x00\x01g\x00\x01m"
    current = CurrentValue(2, 1, 1, {bytes(16): frozenset({3, 1})}, {})
    assert make.current("m", current).key == b"\x00\x08\x00\x01g\x00\x01m"
    assert make.current("m", current).value == (
        b"\x00\x00" + b"\x00\x00\x00\x02" + b"\x00\x00\x00\x01" + b"\x01"
        b"\x02" + bytes(16) + b"\x03" + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x03" + b"\x00"
        b"\x01" + b"\x00"
    )
    assert make.regex("^a", None).key == b"\x00\x10\x00\x01g\x00\x02^a"


def test_a_kind_that_is_not_known_is_passed_over() -> None:
    assert read_kind(b"\x00\x11\x00\x01g")[0] is None  # a streams group's
    assert read_kind(b"\x00\x02\x00\x01g")[0] is KeyKind.GROUP


def test_subscriptions_of_clients_are_understood() -> None:
    found = decode_subscription(subscription(["a", "b"], {"a": [1, 2]}))
    assert (found.version, found.topics, found.owned) == (1, ("a", "b"), {"a": (1, 2)})
    newest = b"\x00\x03" + subscription(["a"])[2:] + (7).to_bytes(4, "big") + b"\x00\x01r"
    assert decode_subscription(newest)[3:] == (7, "r")
    assert decode_assignment(encode_assignment({"a": (1, 2)}, 3)) == {"a": (1, 2)}
    assert decode_assignment(b"") == {}
