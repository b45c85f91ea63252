"""Batches cut by time: whatever the limit, each task takes its records in the order of Kafka Streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.raw_records import RawRecord, merged
from penstock.plan.task import Task
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.host.time_order import FUTURE_SECONDS, TimeOrder
from penstock.spark.limits import Offsets
from penstock.streams import StreamsBuilder, StringSerde

NOW_MS = 1_000
Logs = dict[TopicPartition, list[int]]
"""The timestamps of each partition, whose offsets begin at 0."""


class FakeClock:
    seconds = 0.0

    def now_ms(self) -> int:
        return NOW_MS

    def monotonic(self) -> float:
        return self.seconds


class KnownTimes:
    def __init__(self, logs: Logs, start: Mapping[TopicPartition, int], end: Offsets) -> None:
        self._logs, self._start, self._end = logs, start, end
        self.asked = 0

    def ends_at(self, time_ms: int) -> Offsets:
        self.asked += 1
        return {
            place: next((at for at in range(self._start[place], end) if self._logs[place][at] > time_ms), end)
            for place, end in self._end.items()
        }


def batches(logs: Logs, limit: int, order: TimeOrder | None = None) -> Iterator[list[RawRecord]]:
    """The records of each batch until everything is read, as an application would read them."""
    order = order or TimeOrder(FakeClock())
    start, end = dict.fromkeys(logs, 0), {place: len(times) for place, times in logs.items()}
    while start != end:
        times = KnownTimes(logs, start, end)
        left = sum(end.values()) - sum(start.values())
        cut = end if left <= limit else order.cut(start, end, limit, times)
        assert all(start[place] <= cut[place] <= end[place] for place in logs)
        assert cut != start, "a batch makes progress"
        assert times.asked <= 80
        yield [
            RawRecord(*place, at, logs[place][at], None, None)
            for place in sorted(logs)
            for at in range(start[place], cut[place])
        ]
        start = cut


def by_task(records: list[RawRecord]) -> dict[int, list[RawRecord]]:
    """The order of each task, which takes the partition of one number of every topic."""
    numbers = sorted({record.partition for record in records})
    return {n: list(merged([record for record in records if record.partition == n])) for n in numbers}


timestamps = st.lists(st.integers(-1, 30) | st.integers(0, 10**13), max_size=12)
logs = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["orders", "people", "prices"]), st.integers(0, 2)), timestamps
)


@given(logs, st.integers(1, 12))
def test_the_order_of_each_task_does_not_depend_on_the_limit(logs: Logs, limit: int) -> None:
    found: dict[int, list[RawRecord]] = {}
    for batch in batches(logs, limit):
        partitions = len({record[:2] for record in batch})
        assert len(batch) <= limit + partitions  # equal times: every partition of a topic gets at least one
        for task, records in by_task(batch).items():
            found.setdefault(task, []).extend(records)
    whole = [
        RawRecord(*place, at, time, None, None)
        for place in sorted(logs)
        for at, time in enumerate(logs[place])
    ]
    assert found == by_task(whole)


def joined(batches: Iterable[list[RawRecord]]) -> list[tuple[str, bytes | None]]:
    """What a task gives for a stream that is joined with two tables, batch after batch."""
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    orders, people, prices = builder.stream("orders"), builder.table("people"), builder.table("prices")
    both = people.left_join(prices, lambda person, price: f"{person} {price}")
    orders.left_join(people, lambda order, person: f"{order} {person}").to("with-people")
    orders.left_join(both, lambda order, found: f"{order} {found}").to("with-both")
    task = Task(builder.build().plan, application_id="joined")
    return [(found.topic, found.value) for batch in batches for found in task.step(batch)]


@given(st.lists(timestamps, min_size=3, max_size=3), st.integers(1, 12))
def test_joins_give_the_same_results_whatever_the_limit(times: list[list[int]], limit: int) -> None:
    places = [TopicPartition(topic, 0) for topic in ("orders", "people", "prices")]
    positive = {place: [max(0, time) for time in mine] for place, mine in zip(places, times, strict=True)}

    def filled(records: list[RawRecord]) -> list[RawRecord]:
        return [record._replace(key=b"k", value=b"%d" % record.offset) for record in records]

    whole = [filled(batch) for batch in batches(positive, sum(map(len, times)) + 1)]
    assert joined(map(filled, batches(positive, limit))) == joined(whole)


def test_a_table_written_earlier_comes_before_the_stream_that_joins_it() -> None:
    table, stream = TopicPartition("table", 0), TopicPartition("stream", 0)
    first = next(batches({table: list(range(100)), stream: list(range(10_000, 12_000))}, 500))
    assert [record.topic for record in first if record.topic == "table"] == ["table"] * 100


def test_batches_are_at_least_half_full_where_times_differ() -> None:
    spread = {TopicPartition("t", n): list(range(n, 4_000, 4)) for n in range(4)}
    sizes = [len(batch) for batch in batches(spread, 100)]
    assert all(50 <= size <= 100 for size in sizes[:-1])


def test_a_partition_with_times_of_the_future_waits_a_minute_and_not_for_ever() -> None:
    clock = FakeClock()
    old, future = TopicPartition("old", 0), TopicPartition("wrong-clock", 0)
    logs = {old: list(range(900)), future: [10**12 + n for n in range(100)]}
    found = batches(logs, 40, TimeOrder(clock))
    assert {record.topic for record in next(found)} == {"old"}
    assert {record.topic for record in next(found)} == {"old"}
    clock.seconds += FUTURE_SECONDS
    later = next(found)
    assert {record.topic for record in later} == {"old", "wrong-clock"}
    assert [record.topic for record in later].count("wrong-clock") == 10


def test_a_search_begins_near_the_cut_before() -> None:
    place = TopicPartition("t", 0)
    log = {place: [1_700_000_000_000 + 10 * n for n in range(100_000)]}
    order, start, end = TimeOrder(), {place: 0}, {place: 100_000}
    asked = []
    for _ in range(5):
        times = KnownTimes(log, start, end)
        start = order.cut(start, end, 1_000, times)
        asked.append(times.asked)
    assert max(asked[2:]) <= 12, asked
