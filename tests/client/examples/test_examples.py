"""Each example of examples/client does what its first sentence says."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from penstock.client import (
    Admin,
    AlterConfigOp,
    ConfigResource,
    Consumer,
    NewTopic,
    Producer,
    SerializationException,
    TopicPartition,
)
from tests.examples.loading import EXAMPLES

SECONDS = 60.0


def example(name: str) -> Any:
    """The module. It can be found by its name, as when it is run: dataclasses look for it."""
    spec = spec_from_file_location(f"example_{name}", EXAMPLES / "client" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def until(condition: Callable[[], bool]) -> Callable[[], bool]:
    """For loops that go on until something is true; with a deadline."""
    deadline = time.monotonic() + SECONDS

    def goes_on() -> bool:
        assert time.monotonic() < deadline, "it took too long"
        return not condition()

    return goes_on


def create(servers: str, name: str, partitions: int = 1) -> str:
    with Admin({"bootstrap.servers": servers}) as admin:
        admin.create_topics([NewTopic(name, partitions, 1)]).all().result(30)
    return name


def send(servers: str, topic: str, *values: str) -> None:
    with Producer({"bootstrap.servers": servers}) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value.encode(), str(number).encode())


def committed_values(servers: str, topic: str, count: int) -> list[bytes]:
    """So many values of the first partition, by a reader of committed records."""
    reading = {
        "bootstrap.servers": servers,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }
    found: list[bytes] = []
    with Consumer(reading) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        goes_on = until(lambda: len(found) >= count)
        while goes_on():
            found += [record.value for record in consumer.poll(0.5)]
    return found


def committed(servers: str, group: str, topic: str) -> int | None:
    with Admin({"bootstrap.servers": servers}) as admin:
        found = admin.list_consumer_group_offsets(group).partitions_to_offset_and_metadata().result(20)
    at = found.get(TopicPartition(topic, 0))
    return None if at is None else at.offset


def test_sending(servers: str) -> None:
    sending = example("sending")
    with Producer(sending.settings(servers)) as producer:
        sending.fire_and_forget(producer)
        assert sending.synchronously(producer).topic == sending.TOPIC
        assert [each.offset for each in sending.asynchronously(producer)] == list(range(2, 12))
    assert asyncio.run(sending.in_a_coroutine(servers)).offset == 12


def test_the_biggest_customer_has_a_partition_alone(servers: str) -> None:
    biggest = example("biggest_customer")
    biggest.create_topic(servers)
    found = biggest.send_orders(servers, ["banana", *map(str, range(50)), "banana"])
    assert found.pop("banana") == {biggest.PARTITIONS - 1}
    assert set.union(*found.values()) == set(range(biggest.PARTITIONS - 1))


def test_a_serializer_by_hand_and_avro_with_a_newer_reader(servers: str, registry_url: str) -> None:
    own = example("own_serializer")
    ann = own.Customer(7, "Ann")
    assert own.by_hand(servers, "by-hand", ann) == [ann]
    with pytest.raises(SerializationException):
        own.CustomerDeserializer().deserialize("t", b"short")
    assert own.with_avro(servers, registry_url, "by-avro", ann) == [{"id": 7, "name": "Ann", "email": None}]


class Crash(Exception):
    """As if the program had died there."""


def test_what_a_crash_in_the_middle_leaves(servers: str) -> None:
    """At most once loses what was worked on, at least once repeats it, exactly once does neither."""
    reading = example("reading")
    topic = create(servers, "crashes")
    done: list[str] = []

    def crashing(record: Any) -> str:
        if record.value == "2" and crashes:
            crashes.pop()
            raise Crash
        done.append(record.value)
        return f"done {record.value}"

    def twice(run: Callable[[], None]) -> list[str]:
        done.clear()
        crashes.append(True)
        with pytest.raises(Crash):
            run()
        run()
        return list(done)

    def until_position(kind: str) -> Callable[[], bool]:
        """Until all four are committed."""
        return until(lambda: committed(servers, f"{topic}-{kind}", topic) == 4)

    crashes: list[bool] = []
    send(servers, topic, "0", "1", "2", "3")
    lost = twice(lambda: reading.at_most_once(servers, topic, crashing, until_position("at-most")))
    assert lost == ["0", "1"]
    repeated = twice(lambda: reading.at_least_once(servers, topic, crashing, until_position("at-least")))
    assert repeated == ["0", "1", "0", "1", "2", "3"]
    results = create(servers, "crashes-done")
    twice(lambda: reading.exactly_once(servers, topic, results, crashing, until_position("exactly")))
    assert committed_values(servers, results, 4) == [f"done {number}".encode() for number in range(4)]


def test_slow_work_keeps_the_order_of_a_partition_and_is_committed_when_done(servers: str) -> None:
    pool = example("worker_pool")
    topic = create(servers, "slow", 4)
    send(servers, topic, *map(str, range(80)))
    seen: dict[int, list[int]] = {}
    together, most = threading.Semaphore(0), []
    lock = threading.Lock()

    def work(record: Any) -> None:
        with lock:
            most.append(threading.active_count())
            seen.setdefault(record.partition, []).append(record.offset)
        together.release()

    pool.run(servers, topic, work, until(lambda: sum(map(len, seen.values())) >= 80), threads=4)
    assert {partition: sorted(offsets) for partition, offsets in seen.items()} == seen
    with Consumer({"bootstrap.servers": servers, "group.id": f"{topic}-workers"}) as consumer:
        found = consumer.committed([TopicPartition(topic, partition) for partition in seen])
    assert {each.partition: at.offset for each, at in found.items()} == {
        partition: offsets[-1] + 1 for partition, offsets in seen.items()
    }


def test_what_fails_is_tried_again_and_then_set_aside(servers: str) -> None:
    retries = example("retries")
    topic = create(servers, "jobs-with-retries")
    create(servers, f"{topic}-retry")
    create(servers, f"{topic}-dead")
    send(servers, topic, "good", "never", "later")
    tried: list[bytes] = []
    results: list[bytes] = []

    def process(record: Any) -> None:
        tried.append(record.value)
        if record.value == b"never" or (record.value == b"later" and tried.count(b"later") < 2):
            raise ValueError("no")
        results.append(record.value)

    retries.run(servers, topic, process, until(lambda: tried.count(b"never") >= 3 and len(results) >= 2))
    assert results == [b"good", b"later"]
    assert tried.count(b"never") == retries.ATTEMPTS
    assert committed_values(servers, f"{topic}-dead", 1) == [b"never"]


def test_a_work_queue_tries_again_and_gives_up_what_can_never_be_done(servers: str) -> None:
    queue = example("work_queue")
    topic, group = create(servers, "queue"), "queue-workers"
    with Admin({"bootstrap.servers": servers}) as admin:
        first = [AlterConfigOp("share.auto.offset.reset", "earliest")]
        admin.incremental_alter_configs({ConfigResource("GROUP", group): first}).result(30)
    send(servers, topic, "good", "later", "never")
    tried: list[str] = []

    def work(record: Any) -> None:
        tried.append(record.value)
        if record.value == "never":
            raise ValueError
        if record.value == "later" and tried.count("later") < 2:
            raise RuntimeError

    queue.run(servers, topic, group, work, until(lambda: tried.count("later") >= 2))
    assert sorted(tried) == ["good", "later", "later", "never"]


def test_log_lines_are_collected_into_files(servers: str, tmp_path: Path) -> None:
    logs = example("log_aggregation")
    create(servers, logs.TOPIC, 2)
    for program in ("web", "billing"):
        handler = logs.TopicHandler(servers, program)
        logger = logging.Logger(program)
        logger.addHandler(handler)
        for number in range(20):
            logger.warning("line %d of %s", number, program)
        handler.close()

    def lines(program: str) -> list[Any]:
        path = tmp_path / f"{program}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    logs.collect(servers, tmp_path, until(lambda: len(lines("web")) == len(lines("billing")) == 20))
    for program in ("web", "billing"):
        assert [line["text"] for line in lines(program)] == [
            f"line {number} of {program}" for number in range(20)
        ]


def test_metrics_of_the_last_minute(servers: str) -> None:
    metrics = example("metrics")
    create(servers, metrics.TOPIC)
    metrics.report(servers, "web", 3, pause_s=0)
    count = [0]

    def seen() -> bool:
        count[0] += 1
        return count[0] > 8

    minute = metrics.watch(servers, until(seen))
    found = minute.summaries(int(time.time() * 1000))
    assert found["web.record-send-total"].measured == 3
    assert found["web.record-send-total"].least == 0
    assert not minute.summaries(int(time.time() * 1000) + metrics.WINDOW_MS)


def test_the_salary_table_has_the_last_salary_of_everybody_who_is_there(servers: str) -> None:
    salaries = example("salaries")
    salaries.create(servers)
    salaries.change(servers, [("Ann", 5000), ("Bo", 4000), ("Ann", 5500), ("Cy", 3000), ("Bo", None)])
    assert salaries.table(servers) == {"Ann": 5500, "Cy": 3000}
    salaries.create(servers)  # it is there already
