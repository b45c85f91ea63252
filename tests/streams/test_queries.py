"""Views of stores: what a running application has committed to a changelog, asked from outside."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from penstock.client.errors import TopicNotFound
from penstock.streams import (
    Application,
    LongSerde,
    Materialized,
    SessionWindows,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    Topology,
    TopologyError,
    TopologyTestDriver,
    Windowed,
)
from penstock.streams.running import create_missing_topics
from penstock.testing import Broker
from penstock.wire.partitioner import partition_for_key

APP, PARTITIONS = "counting", 3
STORES = ("counts", "by-minute", "sessions", "history")


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=LongSerde())
    by_key = builder.stream("in").group_by_key()
    by_key.count(materialized="counts")
    by_key.windowed_by(TimeWindows(60_000)).count(materialized=Materialized("by-minute", retention=3_600_000))
    by_key.windowed_by(SessionWindows(5_000)).count(materialized="sessions")
    by_key.reduce(max, materialized=Materialized("history", history=3_600_000))
    by_key.count(materialized=Materialized("lost", logging=False))
    return builder.build()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        create_missing_topics(
            broker.bootstrap_servers, {f"{APP}-{name}-changelog": {} for name in STORES}, PARTITIONS
        )
        log_changes(broker.bootstrap_servers)
        yield broker


def log_changes(servers: str) -> None:
    """What the test driver puts into the changelogs, in one transaction, and something that is aborted."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": APP})
    producer.init_transactions(20)
    producer.begin_transaction()
    with TopologyTestDriver(topology(), application_id=APP) as driver:
        for at, key in ((600_000, "a"), (601_000, "b"), (602_000, "a"), (661_000, "a"), (662_000, "c")):
            driver.pipe("in", key, at, timestamp=at)
        for name in STORES:
            topic = f"{APP}-{name}-changelog"
            for change in driver.read_raw(topic):
                assert change.key is not None
                partition = partition_for_key(change.key[:1], PARTITIONS)
                producer.produce(
                    topic, change.value, change.key, timestamp=change.timestamp, partition=partition
                )
    producer.commit_transaction(20)
    producer.begin_transaction()
    producer.produce(f"{APP}-counts-changelog", (99).to_bytes(8, "big"), b"a", partition=0)
    producer.flush(20)
    producer.abort_transaction(20)


@pytest.fixture
def application(broker: Broker) -> Iterator[Application]:
    application = Application(topology(), APP, broker.bootstrap_servers)
    yield application
    application.close()


def test_rows_are_found_by_key_by_range_and_all_of_them(application: Application) -> None:
    counts = application.store("counts")
    assert (counts.get("a"), counts.get("b"), counts.get("z")) == (3, 1, None)
    assert counts.get_stamped("a").timestamp == 661_000
    assert dict(counts.range("a", "b")) == {"a": 3, "b": 1}
    assert dict(counts.all()) == {"a": 3, "b": 1, "c": 1}
    assert counts.approximate_num_entries() == 3


def test_windows_are_found_by_key_and_time(application: Application) -> None:
    by_minute = application.store("by-minute")
    assert (by_minute.fetch("a", 600_000), by_minute.fetch("a", 660_000), by_minute.fetch("a", 1)) == (
        2,
        1,
        None,
    )
    assert list(by_minute.fetch_range("a", 0, 660_000)) == [(600_000, 2), (660_000, 1)]
    assert dict(by_minute.fetch_all(660_000, 660_000)) == {
        Windowed("a", 660_000, 720_000): 1,
        Windowed("c", 660_000, 720_000): 1,
    }
    assert len(list(by_minute.all())) == 4


def test_sessions_are_found_by_key(application: Application) -> None:
    sessions = application.store("sessions")
    assert list(sessions.fetch("c")) == [(Windowed("c", 662_000, 662_000), 1)]
    assert sessions.fetch_session("a", 661_000, 661_000) == 1
    assert sessions.fetch_session("a", 600_000, 602_000) is None, "it has expired, or became another one"


def test_a_versioned_row_is_found_as_it_was(application: Application) -> None:
    history = application.store("history")
    assert (history.get("a"), history.get_as_of("a", 601_500).value) == (661_000, 600_000)


def test_a_view_follows_what_is_committed_and_answers_in_milliseconds(
    application: Application, broker: Broker
) -> None:
    counts = application.store("counts")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(f"{APP}-counts-changelog", (7).to_bytes(8, "big"), b"new", partition=1)
    assert producer.flush(20) == 0
    assert application.store("counts") is counts, "asked again, it is the same one, and current"
    assert counts.get("new") == 7
    producer.produce(f"{APP}-counts-changelog", None, b"new", partition=1)
    assert producer.flush(20) == 0
    counts.wait_until_current()
    began = time.perf_counter()
    for _ in range(1000):
        assert counts.get("new") is None
    assert time.perf_counter() - began < 1.0, "a read takes less than a millisecond"


def test_what_cannot_be_queried_is_said(application: Application, broker: Broker) -> None:
    with pytest.raises(KeyError, match="there is no store nothing; there are"):
        application.store("nothing")
    with pytest.raises(TopologyError, match="has no changelog"):
        application.store("lost")
    with pytest.raises(TopicNotFound):
        Application(topology(), "other", broker.bootstrap_servers).store("counts")
