"""`kafka-get-offsets` beside Kafka's own, and `kafka-run-class`, which finds it by its old name."""

from __future__ import annotations

from importlib import import_module

import pytest
from confluent_kafka import Producer

from penstock.cli.kafka.get_offsets import get_offsets
from penstock.cli.kafka.run_class import CLASSES, run_class
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "org.apache.kafka.tools.GetOffsetShell"
TO = "--bootstrap-server SERVERS"


@pytest.fixture
def counted(side: SideBySide) -> None:
    words = f"{TO} --create --topic counted --partitions 3 --if-not-exists".split()
    if "Created" not in side.ours(topics, *words).out:
        return
    producer = Producer({"bootstrap.servers": side.servers})
    for number in range(7):
        producer.produce("counted", str(number), partition=number % 2, timestamp=1_700_000_000_000 + number)
    assert producer.flush(10) == 0


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    "line",
    [
        "--topic counted",
        "--topic counted --time -2",
        "--topic counted --time earliest",
        "--topic counted --time -3",
        "--topic counted --time 1700000000004",
        "--topic counted --time 1800000000000",
        "--topic counted --partitions 0,2",
        "--topic-partitions counted:1",
        "--topic-partitions counted:1-,nothing:3",
        "--topic-partitions coun.*:-2",
        "--topic-partitions :1 --exclude-internal-topics",
        "--topic no-such-topic",
        "--topic counted --partitions a",
        "--topic counted --time soon",
        "--topic counted --topic-partitions counted",
        "--topic counted --nothing",
    ],
)
def test_offsets_are_printed_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(get_offsets, KAFKAS, f"{TO} {line}")
    assert (ours.code, ours.out, ours.complaint) == (kafkas.code, kafkas.out, kafkas.complaint)


@pytest.mark.parametrize("line", ["", "--topic a", "--bootstrap-server nowhere --topic a"])
def test_a_mistake_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(get_offsets, KAFKAS, line)
    assert (ours.code, ours.complaint) == (kafkas.code, kafkas.complaint)


@pytest.mark.usefixtures("counted")
def test_the_old_name_of_the_class_is_run(side: SideBySide) -> None:
    said = side.ours(
        run_class, *["kafka.tools.GetOffsetShell", "--broker-list", "SERVERS", "--topic", "counted"]
    )
    assert said.out.split() == ["counted:0:4", "counted:1:3", "counted:2:0"]


def test_a_class_that_there_is_not_is_refused(side: SideBySide) -> None:
    said = side.ours(run_class, "kafka.Nothing")
    assert said.code == 1
    assert said.complaint.startswith("Error: Could not find or load main class kafka.Nothing.")


def test_every_class_has_its_command() -> None:
    for where in CLASSES.values():
        module, _, function = where.partition(":")
        assert callable(getattr(import_module(f"penstock.cli.kafka.{module}"), function))
