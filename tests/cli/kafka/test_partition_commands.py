"""`kafka-log-dirs`, `kafka-delete-records` and `kafka-leader-election` beside Kafka's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.cli.kafka.delete_records import delete_records
from penstock.cli.kafka.leader_election import leader_election
from penstock.cli.kafka.log_dirs import log_dirs
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

TOOLS = "org.apache.kafka.tools."
TO = "--bootstrap-server SERVERS"


@pytest.fixture
def ten(side: SideBySide) -> None:
    words = f"{TO} --create --topic ten --if-not-exists".split()
    if "Created" in side.ours(topics, *words).out:
        producer = Producer({"bootstrap.servers": side.servers})
        for number in range(10):
            producer.produce("ten", str(number))
        assert producer.flush(10) == 0


def unordered(text: str) -> Any:
    """The document of the last line; Kafka prints partitions in the order of a hash table."""
    document = json.loads(text.splitlines()[-1])
    for broker in document["brokers"]:
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda one: one["partition"])
    return document


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize("options", ["", "--topic-list ten", "--topic-list none-of-them --broker-list 1"])
def test_log_directories_are_described_as_kafka_does(side: SideBySide, options: str) -> None:
    ours, kafkas = side.both(log_dirs, f"{TOOLS}LogDirsCommand", f"{TO} --describe {options}")
    assert ours.code == kafkas.code == 0
    assert ours.out.splitlines()[:2] == kafkas.out.splitlines()[:2]
    assert unordered(ours.out) == unordered(kafkas.out)


@pytest.mark.parametrize("line", ["", TO, f"{TO} --describe --broker-list 7", f"{TO} --describe --nothing"])
def test_a_mistake_about_log_directories_is_answered_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(log_dirs, f"{TOOLS}LogDirsCommand", line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize(
    "document",
    [
        {"partitions": [{"topic": "ten", "partition": 0, "offset": 3}], "version": 1},
        {"partitions": [{"topic": "ten", "partition": 0, "offset": 99}]},
        {"partitions": [{"topic": "ten", "partition": 0, "offset": 4}] * 2},
        {"partitions": [], "version": 2},
        {"version": 1},
    ],
)
def test_records_are_deleted_as_kafka_does(side: SideBySide, tmp_path: Path, document: Any) -> None:
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps(document))
    line = f"{TO} --offset-json-file {path}"
    ours, kafkas = side.both(delete_records, f"{TOOLS}DeleteRecordsCommand", line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


@pytest.mark.parametrize("line", ["", TO])
def test_a_mistake_about_deleting_is_answered_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(delete_records, f"{TOOLS}DeleteRecordsCommand", line)
    assert (ours.code, ours.complaint) == (kafkas.code, kafkas.complaint)


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize(
    "line",
    [
        f"{TO} --election-type preferred --topic ten --partition 0",
        f"{TO} --election-type unclean --topic ten --partition 0",
        f"{TO} --election-type preferred --all-topic-partitions",
        f"{TO} --election-type preferred --topic ten --partition 9",
        f"{TO} --election-type preferred --path-to-json-file FILE",
        f"{TO} --election-type preferred",
        f"{TO} --election-type preferred --topic ten",
        f"{TO} --election-type preferred --all-topic-partitions --partition 1",
        f"{TO} --all-topic-partitions",
        "--all-topic-partitions",
        "",
    ],
)
def test_leaders_are_elected_as_kafka_does(side: SideBySide, tmp_path: Path, line: str) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(json.dumps({"partitions": [{"topic": "ten", "partition": 0}]}))
    ours, kafkas = side.both(
        leader_election, f"{TOOLS}LeaderElectionCommand", line.replace("FILE", str(path))
    )
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)
