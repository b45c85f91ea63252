"""`penstock topic …` against a broker."""

from __future__ import annotations

import json

from tests.cli.commands import CommandLine


def test_a_topic_is_created_listed_described_grown_and_deleted(cli: CommandLine) -> None:
    assert cli("topic", "create", "orders", "--partitions", "2", "--config", "retention.ms=1000").code == 0
    assert cli("topic", "list").out.split("\t")[:2] == ["orders", "2"]
    assert "retention.ms\t1000" in cli("topic", "describe", "orders").out
    assert cli("topic", "add-partitions", "orders", "--partitions", "4").out == "orders has 4 partitions\n"
    assert cli("topic", "delete", "orders").out == "orders deleted\n"
    assert cli("topic", "list").out == ""


def test_programs_get_json_lines(cli: CommandLine) -> None:
    created = cli("topic", "create", "a", "--partitions", "3", "--json")
    assert json.loads(created.out) == {"name": "a", "created": True}
    cli("topic", "create", "b")
    listed = [json.loads(line) for line in cli("topic", "list", "--json").out.splitlines()]
    assert [(entry["name"], entry["partitions"]) for entry in listed] == [("a", 3), ("b", 1)]
    described = json.loads(cli("topic", "describe", "a", "--all-settings", "--json").out)
    assert described["settings"]["segment.bytes"] == "1073741824"
    assert [entry["partition"] for entry in described["partition_list"]] == [0, 1, 2]
    assert json.loads(cli("topic", "delete", "a", "--json").out) == {"name": "a", "deleted": True}


def test_what_is_there_already_or_not_there_is_a_failure_unless_allowed(cli: CommandLine) -> None:
    cli("topic", "create", "here")
    again = cli("topic", "create", "here")
    assert (again.code, again.out) == (1, "")
    assert "A topic named 'here' exists already" in again.err
    assert cli("topic", "create", "here", "--if-not-exists").code == 0
    missing = cli("topic", "delete", "gone")
    assert missing.code == 1
    assert "There is no topic named 'gone'" in missing.err
    assert cli("topic", "delete", "gone", "--if-exists").code == 0
    assert cli("topic", "describe", "gone").code == 1


def test_a_bad_topic_setting_is_said_in_kafkas_words(cli: CommandLine) -> None:
    said = cli("topic", "create", "t", "--config", "retention.ms=soon")
    assert said.code == 1
    assert "Invalid value soon for configuration retention.ms: Not a number of type LONG" in said.err
    unknown = cli("topic", "create", "t", "--config", "retention=1")
    assert "Unknown topic config name: retention" in unknown.err


def test_partitions_are_never_taken_away(cli: CommandLine) -> None:
    cli("topic", "create", "t", "--partitions", "3")
    said = cli("topic", "add-partitions", "t", "--partitions", "2")
    assert said.code == 1
    assert "partitions are never taken away" in said.err
