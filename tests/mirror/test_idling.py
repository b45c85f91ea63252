"""A mirror that has nothing to copy waits, and one that has something does not. No Spark and no real time:
pauses are counted, and a fake clock moves by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql.streaming.datasource import ReadMaxRows

from penstock.mirror.settings import MirrorSettings
from penstock.spark.mirroring import ranges
from penstock.spark.mirroring.idling import LOOKS, PAUSE_SECONDS, UNHURRIED_SECONDS, Patience, pause_after
from penstock.spark.mirroring.ranges import CHOICE, Choice, MirrorDataSource, MirrorReader
from penstock.testing import Broker

LIMIT = ReadMaxRows(1000)
Offsets = dict[str, dict[str, int]]


class Time:
    """A clock that moves by its pauses alone, and does something in each."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.meanwhile: dict[int, Callable[[], None]] = {}

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        self.meanwhile.get(len(self.pauses), lambda: None)()


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(ranges, "time", clock)
    return clock


def create(servers: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(name, 2, 1) for name in topics]).values():
        future.result(30)


def produce(servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(30) == 0


def reader(servers: str, topics: str) -> MirrorReader:
    """Of a flow from a cluster to itself."""
    texts = {f"{alias}.bootstrap.servers": servers for alias in "AB"}
    flow = MirrorSettings({"clusters": "A,B", "A->B.enabled": "true", "topics": topics, **texts}).flow(
        "A", "B"
    )
    choice = Choice(flow.selection, flow.source_client, flow.target_client, (), from_end=False)
    options = {CHOICE: choice.to_option(), "kafka.bootstrap.servers": servers, "subscribePattern": ".*"}
    source = MirrorDataSource({**options, "failOnDataLoss": "false"})
    return source.streamReader(source.schema())


def test_an_idle_source_is_looked_at_ten_times_a_second_and_no_batch_runs(servers: str, clock: Time) -> None:
    create(servers, "idle", "A.idle")
    source = reader(servers, "idle")
    start = source.initialOffset()
    assert start == {"idle": {"0": 0, "1": 0}}

    for turn in range(1, 4):
        assert source.latestOffset(start, LIMIT) == start
        assert clock.pauses == [PAUSE_SECONDS] * LOOKS * turn
    assert source.reportLatestOffset() is None


def test_a_record_ends_the_wait_and_a_backlog_does_not_wait_at_all(servers: str, clock: Time) -> None:
    create(servers, "busy", "A.busy")
    source = reader(servers, "busy")
    start = source.initialOffset()
    clock.meanwhile[3] = lambda: produce(servers, "busy")

    end = source.latestOffset(start, LIMIT)
    assert end == {"busy": {"0": 1, "1": 0}}
    assert len(clock.pauses) == 3
    produce(servers, "busy")
    assert source.latestOffset(end, LIMIT) == {"busy": {"0": 2, "1": 0}}
    assert len(clock.pauses) == 3


def test_a_new_topic_is_found_when_the_wait_is_over(servers: str, clock: Time) -> None:
    create(servers, "first", "A.first")
    source = reader(servers, "first,second")
    start = source.initialOffset()

    clock.meanwhile[2] = lambda: create(servers, "second", "A.second")
    assert source.latestOffset(start, LIMIT) == start
    assert source.latestOffset(start, LIMIT) == {"first": {"0": 0, "1": 0}, "second": {"0": 0, "1": 0}}


def test_a_topic_that_is_deleted_stops_nothing(servers: str, clock: Time) -> None:
    create(servers, "kept", "A.kept", "gone", "A.gone")
    source = reader(servers, "kept,gone")
    start = source.initialOffset()
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics(["gone"])["gone"].result(30)

    assert source.latestOffset(start, LIMIT) == start
    produce(servers, "kept")
    assert source.latestOffset(start, LIMIT) == {"gone": {"0": 0, "1": 0}, "kept": {"0": 1, "1": 0}}


def test_heartbeats_wait_for_something_to_go_with(servers: str, clock: Time) -> None:
    create(servers, "with-beats", "A.with-beats", "heartbeats", "A.heartbeats")
    source = reader(servers, "with-beats")
    start = source.initialOffset()
    produce(servers, "heartbeats")

    assert source.latestOffset(start, LIMIT) == start
    assert clock.now < UNHURRIED_SECONDS
    clock.now = UNHURRIED_SECONDS
    alone = source.latestOffset(start, LIMIT)
    assert alone["heartbeats"] == {"0": 1, "1": 0}
    produce(servers, "heartbeats")
    produce(servers, "with-beats")
    together = source.latestOffset(alone, LIMIT)
    assert (together["heartbeats"]["0"], together["with-beats"]["0"]) == (2, 1)


def test_records_that_may_wait_do_so_from_when_they_were_first_seen() -> None:
    clock = Time()
    patience = Patience(lambda topic: topic == "slow", clock.monotonic)
    none: Offsets = {"slow": {"0": 1}, "fast": {"0": 1}}
    beat, both = {**none, "slow": {"0": 2}}, {"slow": {"0": 2}, "fast": {"0": 2}}

    assert not patience.is_due(none, beat)
    clock.now = UNHURRIED_SECONDS - 0.1
    assert not patience.is_due(none, beat)
    assert patience.is_due(none, both)
    assert not patience.is_due(none, beat)  # counted anew after a batch
    clock.now += UNHURRIED_SECONDS
    assert patience.is_due(none, beat)


def test_pauses_are_longer_where_a_look_takes_long() -> None:
    assert pause_after(0.001) == PAUSE_SECONDS
    assert pause_after(0.04) == pytest.approx(0.36)
    assert pause_after(3.0) == 0.5
