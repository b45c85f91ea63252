"""`kafka-reassign-partitions` beside Kafka's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.kafka.reassign_partitions import reassign_partitions
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import Said, SideBySide

COMMAND = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TO = "--bootstrap-server SERVERS"
ONE = {"partitions": [{"topic": "moved", "partition": 0, "replicas": [1]}]}
STACK = "\tat "


@pytest.fixture(autouse=True)
def moved(side: SideBySide) -> None:
    side.ours(topics, *f"{TO} --create --topic moved --partitions 2 --if-not-exists".split())


def said(one: Said) -> list[str]:
    """The lines of standard output without the stack trace, which Kafka prints after some messages."""
    lines = [line.rstrip() for line in one.out.splitlines()]
    return [line for line in lines if not line.startswith((STACK, "Caused by", "java.", "org."))]


def documents(lines: list[str]) -> list[Any]:
    """The lines, JSON as what it says: Kafka orders fields by a hash table."""
    return [_read(line) for line in lines if line]


def _read(line: str) -> Any:
    if not line.startswith("{"):
        return line
    document = json.loads(line)
    document["partitions"].sort(key=lambda one: one["partition"])
    return document


@pytest.mark.parametrize(
    ("action", "document"),
    [
        ("--execute", {"partitions": [{"topic": "moved", "partition": 0, "replicas": [1]}], "version": 1}),
        ("--execute", {"partitions": [{"topic": "moved", "partition": 1, "replicas": [1]}]}),
        (
            "--execute --throttle 1000000",
            ONE,
        ),
        ("--verify", ONE),
        (
            "--verify --preserve-throttles",
            {"partitions": [{"topic": "moved", "partition": 0, "replicas": [1, 2]}]},
        ),
        ("--verify", {"partitions": [{"topic": "gone", "partition": 0, "replicas": [1]}]}),
        (
            "--verify --preserve-throttles",
            ONE,
        ),
        ("--cancel", ONE),
        ("--cancel --preserve-throttles", {"partitions": []}),
        ("--execute", {"partitions": []}),
        ("--execute", {"partitions": [{"topic": "moved", "partition": 0, "replicas": []}]}),
        ("--execute", {"partitions": [{"topic": "moved", "partition": 0, "replicas": [9]}]}),
        ("--execute", {"partitions": [{"topic": "moved", "partition": 0, "replicas": [1, 1]}]}),
        ("--execute", {"partitions": [{"topic": "moved", "partition": 0, "replicas": [1]}] * 2}),
        ("--execute", {"partitions": [], "version": 2}),
    ],
)
def test_partitions_are_moved_as_kafka_does(
    side: SideBySide, tmp_path: Path, action: str, document: Any
) -> None:
    path = tmp_path / "moves.json"
    path.write_text(json.dumps(document))
    line = f"{TO} {action} --reassignment-json-file {path}"
    ours, kafkas = side.both(reassign_partitions, COMMAND, line)
    assert ours.code == kafkas.code, kafkas.out + kafkas.err
    assert documents(said(ours)) == documents(said(kafkas))


def test_a_plan_names_what_there_is_and_what_would_be(side: SideBySide, tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    path.write_text(json.dumps({"topics": [{"topic": "moved"}], "version": 1}))
    line = f"{TO} --generate --topics-to-move-json-file {path} --broker-list 1"
    ours, kafkas = side.both(reassign_partitions, COMMAND, line)
    assert ours.code == kafkas.code == 0
    assert documents(said(ours)) == documents(said(kafkas))


@pytest.mark.parametrize(
    "line", [f"{TO} --list", "", TO, f"{TO} --list --verify", "--list", f"{TO} --execute"]
)
def test_a_line_is_read_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(reassign_partitions, COMMAND, line)
    assert (ours.code, ours.out) == (kafkas.code, kafkas.out)
    assert ours.words_of_complaint == kafkas.words_of_complaint


def test_a_directory_cannot_be_chosen(side: SideBySide, tmp_path: Path) -> None:
    path = tmp_path / "moves.json"
    row = {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": ["/elsewhere"]}
    path.write_text(json.dumps({"partitions": [row]}))
    told = side.ours(reassign_partitions, *f"{TO} --execute --reassignment-json-file {path}".split())
    assert told.code == 1
    assert "/elsewhere" in told.out
