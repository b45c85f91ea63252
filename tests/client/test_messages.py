"""Reading pages, following a topic, and writing records, through a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from penstock.client.errors import InvalidValue, PartitionNotFound, TopicNotFound
from penstock.client.messages import LIMIT_MAX, Messages
from penstock.client.paging import FromOffset, FromTimestamp, Message, Newest, Oldest, Start
from penstock.client.sending import NewRecord
from penstock.client.stream import Stream

NewTopic = Callable[..., str]
DEADLINE_S = 10.0


def fill(messages: Messages, topic: str, records: int, partitions: int = 1) -> None:
    """Record i has value `i`, goes to partition i % partitions and has timestamp 1,000,000 + i ms."""
    with messages.sender(enable_idempotence=False) as sender:
        for i in range(records):
            sender.send(
                topic, NewRecord(str(i).encode(), partition=i % partitions, timestamp_ms=1_000_000 + i)
            )


def values(found: list[Message] | tuple[Message, ...]) -> list[int]:
    return [int(message.value or b"-1") for message in found]


def poll_until(stream: Stream, records: int) -> list[Message]:
    deadline = time.monotonic() + DEADLINE_S
    got: list[Message] = []
    while len(got) < records and time.monotonic() < deadline:
        got += stream.poll(0.2)
    return got


def test_an_empty_topic_has_an_empty_page(messages: Messages, new_topic: NewTopic) -> None:
    page = messages.page(new_topic(2))
    assert page.messages == ()
    assert page.next is None
    assert page.complete


def test_the_newest_messages_come_first_across_partitions(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    fill(messages, topic, 30, partitions=3)
    page = messages.page(topic, limit=5)
    assert values(page.messages) == [29, 28, 27, 26, 25]
    assert page.newest_first


@pytest.mark.parametrize("start", [Newest(), Oldest()])
def test_following_the_pages_shows_every_record_once(
    messages: Messages, new_topic: NewTopic, start: Start
) -> None:
    topic = new_topic(3)
    fill(messages, topic, 50, partitions=3)
    seen: list[int] = []
    at: Start | None = start
    while at is not None:
        page = messages.page(topic, at, limit=20)
        seen += values(page.messages)
        at = page.next
    assert sorted(seen) == list(range(50))


def test_a_page_can_start_at_an_offset_of_one_partition(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    fill(messages, topic, 20, partitions=2)
    page = messages.page(topic, FromOffset(7), partition=1, limit=2)
    assert [(m.partition, m.offset) for m in page.messages] == [(1, 7), (1, 8)]
    assert not page.newest_first


def test_a_page_can_start_at_a_time(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    fill(messages, topic, 20, partitions=2)
    page = messages.page(topic, FromTimestamp(1_000_013))
    assert values(page.messages) == [13, 14, 15, 16, 17, 18, 19]


def test_a_time_after_the_last_record_gives_an_empty_page(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic()
    fill(messages, topic, 3)
    assert messages.page(topic, FromTimestamp(9_000_000)).messages == ()


def test_key_value_headers_and_timestamp_come_back_as_written(
    messages: Messages, new_topic: NewTopic
) -> None:
    topic = new_topic()
    headers = (("trace", b"\x00\xff"), ("trace", b""), ("none", None))
    produced = messages.produce(topic, NewRecord(b"value", b"key", headers, timestamp_ms=1_234_567_890_123))
    page = messages.page(topic)
    assert page.messages == (
        Message(topic, 0, produced.offset, 1_234_567_890_123, "CreateTime", b"key", b"value", headers),
    )


def test_a_tombstone_and_an_empty_value_are_told_apart(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic()
    messages.produce(topic, NewRecord(None, b"k"))
    messages.produce(topic, NewRecord(b"", b"k"))
    assert [m.value for m in messages.page(topic, Oldest()).messages] == [None, b""]


def test_a_record_can_be_sent_to_a_chosen_partition(messages: Messages, new_topic: NewTopic) -> None:
    produced = messages.produce(new_topic(4), NewRecord(b"v", partition=2))
    assert (produced.partition, produced.offset) == (2, 0)


def test_the_same_key_goes_where_kafka_s_java_client_sends_it(
    messages: Messages, new_topic: NewTopic
) -> None:
    # murmur2(b"penstock") & 0x7fffffff, modulo 7
    produced = messages.produce(new_topic(7), NewRecord(b"v", b"penstock"))
    assert produced.partition == murmur2_partition(b"penstock", 7)


def test_a_tail_shows_what_is_written_after_it_was_opened(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    fill(messages, topic, 10, partitions=2)
    with messages.tail(topic) as tail:
        fill(messages, topic, 4, partitions=2)
        assert sorted(values(poll_until(tail, 4))) == [0, 1, 2, 3]


def test_a_stream_from_the_oldest_record_goes_on_with_new_ones(
    messages: Messages, new_topic: NewTopic
) -> None:
    topic = new_topic()
    fill(messages, topic, 3)
    with messages.stream(topic, Oldest()) as stream:
        assert values(poll_until(stream, 3)) == [0, 1, 2]
        fill(messages, topic, 1)
        assert values(poll_until(stream, 1)) == [0]


def test_a_tail_that_falls_behind_skips_and_counts(messages: Messages, new_topic: NewTopic) -> None:
    topic = new_topic()
    with messages.tail(topic, queued_messages=100, skip_when_behind=50) as tail:
        fill(messages, topic, 5_000)
        deadline = time.monotonic() + DEADLINE_S
        got: list[int] = []
        while 4_999 not in got and time.monotonic() < deadline:
            got += values(tail.poll(0.1, limit=20))
    assert got[-1] == 4_999
    assert tail.skipped > 0
    assert len(got) + tail.skipped == 5_000


def test_a_stream_cannot_go_backward(messages: Messages, new_topic: NewTopic) -> None:
    with pytest.raises(InvalidValue, match="forward"):
        messages.stream(new_topic(), Newest())


def test_reading_and_writing_an_unknown_topic_is_refused_and_creates_nothing(messages: Messages) -> None:
    for call in (
        lambda: messages.page("not-there"),
        lambda: messages.tail("not-there"),
        lambda: messages.produce("not-there", NewRecord(b"v")),
    ):
        with pytest.raises(TopicNotFound, match="not-there"):
            call()


def test_an_unknown_partition_is_refused_with_the_ones_there_are(
    messages: Messages, new_topic: NewTopic
) -> None:
    topic = new_topic(3)
    with pytest.raises(PartitionNotFound, match="0 to 2"):
        messages.page(topic, partition=3)
    with pytest.raises(PartitionNotFound, match="0 to 2"):
        messages.produce(topic, NewRecord(b"v", partition=-1))


@pytest.mark.parametrize("limit", [0, LIMIT_MAX + 1])
def test_a_page_has_a_sensible_size(messages: Messages, limit: int) -> None:
    with pytest.raises(InvalidValue, match=f"1 to {LIMIT_MAX}"):
        messages.page("any", limit=limit)


def test_a_record_that_is_too_large_is_refused_with_the_setting_to_raise(
    messages: Messages, new_topic: NewTopic
) -> None:
    with pytest.raises(InvalidValue, match=r"max\.message\.bytes"):
        messages.produce(new_topic(), NewRecord(b"x" * 2_000_000))


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Kafka's partitioner, written out once more to compare with."""
    m, length = 0x5BD1E995, len(key)
    h = 0x9747B28C ^ length
    for i in range(0, length - length % 4, 4):
        k = (int.from_bytes(key[i : i + 4], "little") * m) & 0xFFFFFFFF
        k = ((k ^ (k >> 24)) * m) & 0xFFFFFFFF
        h = ((h * m) & 0xFFFFFFFF) ^ k
    tail = key[length - length % 4 :]
    if tail:
        h = ((h ^ int.from_bytes(tail, "little")) * m) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * m) & 0xFFFFFFFF
    h ^= h >> 15
    return (h & 0x7FFFFFFF) % partitions
