"""Real clients against a real broker, written down and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from penstock.testing.history import Recorder, assert_kept
from penstock.testing.history.clients import RecordedConsumer, RecordedProducer, read_to_the_end
from penstock.testing.history.events import Acked, Assign, Isolation, Kind, Partition, ReadRecord, Send

SECONDS = 30.0
TOPIC = "recorded"
PLACES = [Partition(TOPIC, 0), Partition(TOPIC, 1)]


@pytest.fixture
def servers() -> Iterator[str]:
    """A broker whose groups do not wait for more members."""
    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, len(PLACES))])[TOPIC].result(SECONDS)
        yield broker.bootstrap_servers


def poll_until(consumer: RecordedConsumer, enough: Callable[[list[ReadRecord]], bool]) -> list[ReadRecord]:
    records: list[ReadRecord] = []
    deadline = time.monotonic() + SECONDS
    while not enough(records):
        assert time.monotonic() < deadline, f"{len(records)} records in {SECONDS} s"
        records += consumer.poll(1000, 0.05)
    return records


def test_what_clients_do_becomes_a_history(servers: str) -> None:
    recorder = Recorder()
    producer = RecordedProducer(recorder, "p", {"bootstrap.servers": servers, "linger.ms": 0})
    for number in range(20):
        assert producer.send(PLACES[number % 2], key=b"k")
    assert producer.flush(SECONDS) == 0
    assigned = RecordedConsumer(recorder, "a", {"bootstrap.servers": servers})
    assigned.assign(dict.fromkeys(PLACES, 0))
    assert len(poll_until(assigned, lambda records: len(records) >= 20)) == 20
    assert assigned.look(PLACES[0]).high_watermark == 10
    assigned.close()
    history = recorder.history(read_to_the_end(servers, PLACES, seconds=SECONDS))
    assert_kept(history)
    assert sum(isinstance(event.body, Acked) for event in history.events) == 20
    assert [len(final.records) for final in history.finals] == [10, 10]
    assert {record.key for final in history.finals for record in final.records} == {b"k"}


def test_a_subscribed_consumer_writes_down_its_assignments(servers: str) -> None:
    recorder = Recorder()
    config = {"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = RecordedConsumer(recorder, "c", config)
    consumer.subscribe([TOPIC])
    producer = RecordedProducer(recorder, "p", {"bootstrap.servers": servers})
    for place in PLACES:
        producer.send(place)
    assert producer.flush(SECONDS) == 0
    poll_until(consumer, lambda records: len(records) >= 2)
    consumer.close()
    history = recorder.history(read_to_the_end(servers, PLACES, seconds=SECONDS))
    assert_kept(history)
    facts = {event.body for event in history.events if isinstance(event.body, Assign)}
    assert facts == {Assign(place, group="g", subscribed=True) for place in PLACES}


def test_a_full_queue_is_a_failure_and_a_timeout_is_unknown() -> None:
    recorder = Recorder()
    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "queue.buffering.max.messages": 1,
        "message.timeout.ms": 100,
        "log_level": 0,
    }
    producer = RecordedProducer(recorder, "p", config)
    assert producer.send(PLACES[0])
    assert not producer.send(PLACES[0])
    assert producer.flush(SECONDS) == 0
    events = recorder.history().events
    sends = {event.operation: event.body.value.seq for event in events if isinstance(event.body, Send)}
    ends = {sends[event.operation]: event.kind for event in events if event.kind is not Kind.INVOKE}
    assert ends == {0: Kind.INFO, 1: Kind.FAIL}


def test_transactions_are_written_down_and_judged(servers: str) -> None:
    recorder = Recorder()
    config = {"bootstrap.servers": servers, "transactional.id": "recorded"}
    producer = RecordedProducer(recorder, "one", config)
    for commit in (True, False, True):
        producer.begin()
        for amount, place in zip((-7, 7), PLACES, strict=True):
            assert producer.send(place, amount=amount)
        producer.flush(10)
        if commit:
            assert producer.commit()
        else:
            producer.abort()
    committed = read_to_the_end(servers, PLACES, isolation=Isolation.READ_COMMITTED)
    everything = read_to_the_end(servers, PLACES)
    assert [len(final.records) for final in (*committed, *everything)] == [2, 2, 3, 3]
    assert_kept(recorder.history([*committed, *everything], total=0))
    # The checker is not blind: aborted values among the committed ones are noticed.
    wrong = [final._replace(isolation=Isolation.READ_COMMITTED) for final in everything]
    with pytest.raises(AssertionError):
        assert_kept(recorder.history([*wrong, *everything], total=0))
