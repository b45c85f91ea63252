"""The consumer against a real broker: what Java's does, and Java's errors."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import confluent_kafka
import pytest

from penstock.client import (
    Consumer,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    StringDeserializer,
    TopicPartition,
)
from penstock.client.api.exceptions import (
    ConfigException,
    IllegalStateException,
    InvalidGroupIdException,
    KafkaException,
    NoOffsetForPartitionException,
    SerializationException,
    WakeupException,
)
from tests.client.api.conftest import poll_until


def consumer(bootstrap: str, group: str | None = None, **settings: Any) -> Consumer:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    if group is not None:
        named["group.id"] = group
    return Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", **named})


def fill(bootstrap: str, topic: str, count: int, partition: int | None = None) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as sender:
        for number in range(count):
            sender.send(topic, b"%d" % number, partition=partition, timestamp=1000 + number)


def values(records: Sequence[Any]) -> list[int]:
    return [int(each.value) for each in records]


def test_a_poll_returns_max_poll_records_at_most_and_goes_on_behind_them(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 25)
    with consumer(bootstrap, max_poll_records=10) as reader:
        reader.assign([TopicPartition(topic, 0)])
        polls = []
        while sum(map(len, polls)) < 25:
            polls.append(reader.poll(5))
    assert max(map(len, polls)) <= 10
    assert [value for poll in polls for value in values(poll)] == list(range(25))


def test_records_can_be_asked_for_by_partition_and_by_topic(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(2)
    fill(bootstrap, topic, 3, partition=1)
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0), TopicPartition(topic, 1)])
        records = reader.poll(10)
    assert records.partitions() == {TopicPartition(topic, 1)}
    assert (
        len(records.records(TopicPartition(topic, 1))) == len(records.records(topic)) == records.count() > 0
    )
    assert not records.is_empty()


def test_a_poll_that_finds_nothing_is_empty(bootstrap: str, topic: str) -> None:
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0)])
        started = time.monotonic()
        assert reader.poll(0.3).is_empty()
        assert time.monotonic() - started >= 0.29


def test_a_group_goes_on_where_it_committed(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 10)
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False, max_poll_records=4) as reader:
        reader.subscribe([topic])
        assert values(poll_until(reader, 4)) == [0, 1, 2, 3]
        reader.commit_sync()
        assert reader.committed([TopicPartition(topic, 0)])[TopicPartition(topic, 0)].offset == 4
        reader.poll(5)
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as reader:
        reader.subscribe([topic])
        assert values(poll_until(reader, 6)) == [4, 5, 6, 7, 8, 9]


def test_automatic_commits_are_of_what_the_last_poll_returned(bootstrap: str, topic: str) -> None:
    """A record that a poll returned counts as read when the next poll begins, or at close; never before."""
    fill(bootstrap, topic, 10)
    at = TopicPartition(topic, 0)
    with consumer(bootstrap, f"g-{topic}", max_poll_records=4, auto_commit_interval_ms=1) as reader:
        reader.subscribe([topic])
        assert values(poll_until(reader, 4)) == [0, 1, 2, 3]
        with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as observer:
            assert at not in observer.committed([at])
            assert values(reader.poll(5)) == [4, 5, 6, 7]
            deadline = time.monotonic() + 10
            while at not in observer.committed([at]):
                assert time.monotonic() < deadline
            assert observer.committed([at])[at].offset == 4
    with consumer(bootstrap, f"g-{topic}") as reader:
        reader.subscribe([topic])
        assert values(poll_until(reader, 2)) == [8, 9]


def test_offsets_are_committed_with_metadata_and_by_hand(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 5)
    at = TopicPartition(topic, 0)
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as reader:
        reader.assign([at])
        reader.commit_sync({at: OffsetAndMetadata(3, "by hand")})
        found = reader.committed([at])[at]
    assert (found.offset, found.metadata) == (3, "by hand")


def test_asynchronous_commits_call_back_in_order_and_before_a_synchronous_one(
    bootstrap: str, topic: str
) -> None:
    fill(bootstrap, topic, 10)
    at = TopicPartition(topic, 0)
    heard: list[Any] = []
    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as reader:
        reader.assign([at])
        for offset in (1, 2, 3):
            reader.commit_async(
                {at: offset}, lambda offsets, error: heard.append((offsets[at].offset, error))
            )
        reader.commit_sync({at: 4})
        deadline = time.monotonic() + 10
        while len(heard) < 3 and time.monotonic() < deadline:
            reader.poll(0.1)
        assert reader.committed([at])[at].offset == 4
    assert heard == [(1, None), (2, None), (3, None)]


def test_seek_and_position(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 10)
    at = TopicPartition(topic, 0)
    with consumer(bootstrap) as reader:
        reader.assign([at])
        assert reader.position(at) == 0
        assert values(poll_until(reader, 10)) == list(range(10))
        assert reader.position(at) == 10
        reader.seek(at, 7)
        assert reader.position(at) == 7
        assert values(poll_until(reader, 3)) == [7, 8, 9]
        reader.seek_to_beginning()
        assert values(poll_until(reader, 10)) == list(range(10))
        reader.seek_to_end([at])
        assert reader.position(at) == 10
        assert reader.poll(0.2).is_empty()


def test_offsets_by_time_and_at_both_ends(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 10)
    at = TopicPartition(topic, 0)
    with consumer(bootstrap) as reader:
        assert reader.beginning_offsets([at]) == {at: 0}
        assert reader.end_offsets([at]) == {at: 10}
        found = reader.offsets_for_times({at: 1004})
        assert found[at] is not None
        assert found[at].offset == 4
        assert reader.offsets_for_times({at: 99_999}) == {at: None}
        assert reader.list_topics()[topic] == 1


def test_a_paused_partition_gives_nothing_until_it_is_resumed(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(2)
    fill(bootstrap, topic, 3, partition=0)
    fill(bootstrap, topic, 3, partition=1)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with consumer(bootstrap) as reader:
        reader.assign([first, second])
        reader.pause([second])
        assert {each.partition for each in poll_until(reader, 3)} == {0}
        assert reader.poll(0.3).is_empty()
        assert reader.paused() == {second}
        reader.resume([second])
        assert {each.partition for each in poll_until(reader, 3)} == {1}


def test_a_listener_hears_of_partitions_that_come_and_go(
    bootstrap: str, topic_of: Callable[..., str]
) -> None:
    topic = topic_of(4)
    fill(bootstrap, topic, 20)

    class Listener(RebalanceListener):
        def __init__(self) -> None:
            self.mine: set[TopicPartition] = set()
            self.revoked = 0

        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            self.mine.update(partitions)

        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            self.mine.difference_update(partitions)
            self.revoked += 1

    one, two = Listener(), Listener()
    with consumer(bootstrap, f"g-{topic}") as first:
        first.subscribe([topic], one)
        poll_until(first, 20)
        assert len(one.mine) == 4
        assert first.assignment() == one.mine
        with consumer(bootstrap, f"g-{topic}") as second:
            second.subscribe([topic], two)
            deadline = time.monotonic() + 20
            while not (len(one.mine) == len(two.mine) == 2) and time.monotonic() < deadline:
                first.poll(0.1)
                second.poll(0.1)
            assert not one.mine & two.mine
            assert one.revoked
        assert not two.mine


def test_what_a_listener_raises_is_raised_by_poll(bootstrap: str, topic: str) -> None:
    class Broken(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            raise ValueError("no luck")

    with consumer(bootstrap, f"g-{topic}") as reader:
        reader.subscribe([topic], Broken())
        with pytest.raises(KafkaException, match="User rebalance callback throws an error: no luck"):
            poll_until(reader, 1)


def test_a_listener_may_seek_to_offsets_of_the_users_own(bootstrap: str, topic: str) -> None:
    """Offsets in the user's own database: the group's are not used."""
    fill(bootstrap, topic, 10)

    class FromDatabase(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            for each in partitions:
                reader.seek(each, 6)

    with consumer(bootstrap, f"g-{topic}", enable_auto_commit=False) as reader:
        reader.subscribe([topic], FromDatabase())
        assert values(poll_until(reader, 4)) == [6, 7, 8, 9]


def test_a_pattern_subscribes_to_topics_that_match(bootstrap: str, topic_of: Callable[..., str]) -> None:
    topic = topic_of()
    fill(bootstrap, topic, 3)
    with consumer(bootstrap, f"g-{topic}") as reader:
        reader.subscribe(re.compile(topic[:-1] + topic[-1]))
        assert {each.topic for each in poll_until(reader, 3)} == {topic}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_both_group_protocols_deliver(bootstrap: str, topic: str, protocol: str) -> None:
    fill(bootstrap, topic, 5)
    with consumer(bootstrap, f"g-{topic}", group_protocol=protocol) as reader:
        reader.subscribe([topic])
        assert values(poll_until(reader, 5)) == list(range(5))


def test_wakeup_ends_a_poll_that_waits(bootstrap: str, topic: str) -> None:
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0)])
        timer = threading.Timer(0.3, reader.wakeup)
        timer.start()
        started = time.monotonic()
        with pytest.raises(WakeupException):
            reader.poll(30)
        assert time.monotonic() - started < 5
        assert reader.poll(0).is_empty()
        timer.join()


def test_wakeup_before_a_poll_ends_the_next_one(bootstrap: str, topic: str) -> None:
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0)])
        reader.wakeup()
        with pytest.raises(WakeupException):
            reader.poll(30)


def test_a_record_that_cannot_be_read_says_where_it_is_and_stays_there(bootstrap: str, topic: str) -> None:
    at = TopicPartition(topic, 0)
    with Producer({"bootstrap.servers": bootstrap}) as sender:
        for value in (b"good", b"\xff\xfe", b"good too"):
            sender.send(topic, value)
    with consumer(bootstrap, value_deserializer=StringDeserializer) as reader:
        reader.assign([at])
        assert [each.value for each in poll_until(reader, 1)] == ["good"]
        for _ in range(2):
            with pytest.raises(
                SerializationException, match=rf"of {topic}-0 at offset 1: .*seek past the record"
            ):
                reader.poll(10)
            assert reader.position(at) == 1
        reader.seek(at, 2)
        assert [each.value for each in poll_until(reader, 1)] == ["good too"]


def test_interceptors_see_records_and_commits(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 4)
    commits: list[Any] = []

    class OnlyEven:
        def on_consume(self, records: Any) -> Any:
            return [each for each in records if int(each.value) % 2 == 0]

        def on_commit(self, offsets: Any) -> None:
            commits.append({at.partition: each.offset for at, each in offsets.items()})

    settings = {"enable_auto_commit": False, "interceptor_classes": [OnlyEven]}
    with consumer(bootstrap, f"g-{topic}", **settings) as reader:
        reader.subscribe([topic])
        assert values(poll_until(reader, 2)) == [0, 2]
        reader.commit_sync()
    assert commits == [{0: 4}]


def test_a_position_without_an_offset_is_an_error_when_nothing_may_be_reset(
    bootstrap: str, topic: str
) -> None:
    with consumer(bootstrap, f"g-{topic}", auto_offset_reset="none") as reader:
        reader.subscribe([topic])
        with pytest.raises(NoOffsetForPartitionException):
            poll_until(reader, 1)


def test_offsets_go_into_a_transaction(bootstrap: str, topic_of: Callable[..., str]) -> None:
    source, target = topic_of(), topic_of()
    fill(bootstrap, source, 5)
    at = TopicPartition(source, 0)
    with (
        consumer(bootstrap, f"g-{source}", enable_auto_commit=False) as reader,
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{source}"}) as sender,
    ):
        sender.init_transactions(10)
        reader.subscribe([source])
        records = poll_until(reader, 5)
        with sender.transaction():
            for each in records:
                sender.send(target, each.value)
            sender.send_offsets_to_transaction({at: records[-1].offset + 1}, reader.group_metadata())
        deadline = time.monotonic() + 20  # the marker may come to the group a moment after the commit
        while at not in (found := reader.committed([at])) and time.monotonic() < deadline:
            pass
        assert found[at].offset == 5


@pytest.mark.parametrize("rebalances", [True, False], ids=["a rebalance", "a seek"])
def test_what_moves_in_the_middle_of_a_poll_mixes_nothing(
    bootstrap: str, topic: str, rebalances: bool
) -> None:
    """The library may rebalance or seek while it gathers records: those from before and those from where it
    went must not be in one poll."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(30):
            producer.send(topic, str(number).encode())

    class FromTheStart(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            for each in partitions:
                reader.seek(each, 0)

    class Moving:
        """The library, which moves after some records of a batch."""

        def __init__(self, library: Any) -> None:
            self._library, self.done = library, False

        def __getattr__(self, name: str) -> Any:
            return getattr(self._library, name)

        def consume(self, count: int, timeout: float) -> list[Any]:
            before = self._library.consume(3, 5)
            if self.done or not before:
                return list(before)
            self.done = True
            if rebalances:
                reader._rebalances.on_assigned(self._library, self._library.assignment())
            else:
                self._library.seek(confluent_kafka.TopicPartition(topic, 0, 0))
            return [*before, *self._library.consume(3, 5)]

    with consumer(bootstrap, topic, max_poll_records=10) as reader:
        reader.subscribe([topic], FromTheStart())
        assert next(iter(poll_until(reader, 1))).offset == 0
        begin = 0 if rebalances else reader.position(TopicPartition(topic, 0))
        reader._library = Moving(reader._library)
        offsets: list[int] = []
        deadline = time.monotonic() + 20
        while (not offsets or offsets[-1] < 29) and time.monotonic() < deadline:
            offsets += [record.offset for record in reader.poll(0.5)]
        assert reader._library.done
        assert offsets == list(range(begin, 30))


def test_the_position_is_behind_the_marker_of_a_transaction(bootstrap: str, topic: str) -> None:
    with Producer({"bootstrap.servers": bootstrap, "transactional.id": topic}) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(topic, b"a")
        producer.begin_transaction()
        producer.send(topic, b"aborted")
        producer.flush()
        producer.abort_transaction()
    at = TopicPartition(topic, 0)
    reading = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    with Consumer({**reading, "isolation.level": "read_committed"}) as consumer:
        consumer.subscribe([topic])
        assert [record.value for record in poll_until(consumer, 1)] == [b"a"]
        (end,) = consumer.end_offsets([at]).values()
        deadline = time.monotonic() + 20
        while consumer.position(at) < end and time.monotonic() < deadline:
            assert not consumer.poll(0.5)
        assert (consumer.position(at), end) == (4, 4)
        consumer.commit_sync()
        assert consumer.committed([at])[at].offset == 4
        consumer.seek_to_beginning()
        assert [record.value for record in poll_until(consumer, 1)] == [b"a"]


def test_another_thread_may_not_use_it(bootstrap: str, topic: str) -> None:
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0)])
        polling = threading.Thread(target=lambda: reader.poll(1))
        polling.start()
        seen: list[BaseException] = []
        deadline = time.monotonic() + 5
        while not seen and time.monotonic() < deadline:
            try:
                reader.position(TopicPartition(topic, 0))
            except IllegalStateException as error:
                seen.append(error)
        polling.join()
    assert "not safe for multi-threaded access" in str(seen[0])


def test_calls_that_do_not_fit_the_state_say_so(bootstrap: str, topic: str) -> None:
    at = TopicPartition(topic, 0)
    reader = consumer(bootstrap, f"g-{topic}")
    with pytest.raises(IllegalStateException, match="subscribe"):
        reader.poll(0)
    with pytest.raises(ConfigException, match="takes a list of topics"):
        reader.subscribe(topic)
    reader.assign([at])
    with pytest.raises(IllegalStateException, match="partitions were assigned"):
        reader.subscribe([topic])
    with pytest.raises(IllegalStateException, match="No current assignment"):
        reader.seek(TopicPartition("other", 3), 1)
    with pytest.raises(KafkaException, match="never negative"):
        reader.seek(at, -1)
    reader.close()
    reader.close()
    with pytest.raises(IllegalStateException, match="already been closed"):
        reader.poll(0)


def test_a_consumer_without_a_group_neither_subscribes_nor_commits(bootstrap: str, topic: str) -> None:
    with consumer(bootstrap) as reader:
        with pytest.raises(InvalidGroupIdException):
            reader.subscribe([topic])
        with pytest.raises(InvalidGroupIdException):
            reader.commit_sync()
    with pytest.raises(ConfigException, match=r"needs a group\.id"):
        consumer(bootstrap, enable_auto_commit=True)


def test_metrics_count_what_was_read(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 7)
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0)])
        poll_until(reader, 7)
        assert reader.metrics()["records-consumed-total"] == 7
        assert reader.current_lag(TopicPartition(topic, 0)) == 0
