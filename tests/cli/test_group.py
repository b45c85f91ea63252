"""`penstock group …` against a broker, with a group that has read a part of a topic."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.cli.commands import CommandLine

SECONDS = 10


def committed(cli: CommandLine) -> dict[int, int]:
    said = json.loads(cli("group", "describe", "readers", "--json").out)
    return {part["partition"]: part["committed_offset"] for part in said["partitions"]}


@pytest.fixture
def group(cli: CommandLine) -> None:
    """Ten records in each of two partitions, of which it has committed four and ten."""
    cli("topic", "create", "t", "--partitions", "2")
    producer = Producer({"bootstrap.servers": cli.bootstrap_servers})
    for number in range(20):
        producer.produce("t", str(number), partition=number % 2, timestamp=1_000_000 + number)
    producer.flush(SECONDS)
    consumer = Consumer({"bootstrap.servers": cli.bootstrap_servers, "group.id": "readers"})
    places = [TopicPartition("t", 0, 4), TopicPartition("t", 1, 10)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@pytest.mark.usefixtures("group")
def test_groups_are_listed_and_described_with_their_lag(cli: CommandLine) -> None:
    assert cli("group", "list").out.split("\t")[:2] == ["readers", "EMPTY"]
    assert json.loads(cli("group", "list", "--json").out)["members"] == 0
    said = cli("group", "describe", "readers").out.splitlines()
    assert "0 members, 6 records behind, " in said[0]
    cells = [line.split("\t") for line in said[1:]]
    assert [row[:5] for row in cells] == [["t", "0", "4", "10", "6"], ["t", "1", "10", "10", "0"]]
    assert float(cells[0][5]) > 0  # seconds that the first unread record has waited
    assert cells[1][5:] == ["0", "-"]
    missing = cli("group", "describe", "nobody")
    assert (missing.code, "nobody" in missing.err) == (1, True)


def test_members_are_shown_with_what_they_have(cli: CommandLine, group: None) -> None:
    consumer = Consumer({"bootstrap.servers": cli.bootstrap_servers, "group.id": "readers"})
    consumer.subscribe(["t"])
    while len(consumer.assignment()) < 2:
        consumer.poll(0.1)
    said = json.loads(cli("group", "describe", "readers", "--json").out)
    assert [member["partitions"] for member in said["members"]] == [[["t", 0], ["t", 1]]]
    assert {part["member_id"] for part in said["partitions"]} == {said["members"][0]["member_id"]}
    refused = cli("group", "reset-offsets", "readers", "--to-latest")
    assert (refused.code, "has 1 members" in refused.err) == (1, True)
    consumer.close()


@pytest.mark.usefixtures("group")
def test_offsets_are_moved_to_where_the_options_say(cli: CommandLine) -> None:
    assert cli("group", "reset-offsets", "readers", "--to-latest", "--dry-run").out == (
        "t\t0\t4\t10\t-6\nt\t1\t10\t10\t0\n"
    )
    assert committed(cli) == {0: 4, 1: 10}
    cli("group", "reset-offsets", "readers")
    assert committed(cli) == {0: 0, 1: 0}
    cli("group", "reset-offsets", "readers", "--topic", "t", "--to-datetime", "1970-01-01T00:16:40.006")
    assert committed(cli) == {0: 3, 1: 3}
    cli("group", "reset-offsets", "readers", "--shift-by", "-2")
    assert committed(cli) == {0: 1, 1: 1}
    both = cli("group", "reset-offsets", "readers", "--to-latest", "--to-offset", "3")
    assert (both.code, "Only one of the options" in both.err) == (2, True)


def test_a_group_that_is_not_there_begins_where_it_is_told(cli: CommandLine) -> None:
    cli("topic", "create", "t")
    assert cli("group", "reset-offsets", "readers").code == 1
    said = cli("group", "reset-offsets", "readers", "--topic", "t", "--to-latest")
    assert (said.out, said.err) == ("t\t0\t-\t0\t-\n", "")
    assert committed(cli) == {0: 0}


@pytest.mark.usefixtures("group")
def test_a_group_is_deleted(cli: CommandLine) -> None:
    assert cli("group", "delete", "readers").out == "readers deleted\n"
    assert cli("group", "list").out == ""
    assert cli("group", "delete", "readers").code == 1
