"""`kafka-topics` beside Kafka's own."""

from __future__ import annotations

import pytest

from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "org.apache.kafka.tools.TopicCommand"
TO = "--bootstrap-server SERVERS"


def configs_sorted(lines: list[str]) -> list[str]:
    """Kafka prints the settings of a topic in the order of a hash table; ours come in the broker's order."""

    def sorted_in(line: str) -> str:
        head, _, configs = line.partition("Configs: ")
        return head + ",".join(sorted(configs.split(",")))

    return [sorted_in(line) for line in lines]


def make(side: SideBySide, name: str, *words: str) -> None:
    said = side.ours(topics, *TO.split(), "--create", "--topic", name, *words)
    assert said.code == 0, said


def test_a_created_topic_is_listed_and_described_as_kafka_does(side: SideBySide) -> None:
    make(
        side,
        "seen",
        "--partitions",
        "2",
        "--config",
        "retention.ms=60000",
        "--config",
        "cleanup.policy=delete",
    )
    for line in (
        f"{TO} --describe --topic seen",
        f"{TO} --describe --topic seen --topics-with-overrides",
        f"{TO} --describe --topic seen --at-min-isr-partitions",
        f"{TO} --describe --topic seen --under-replicated-partitions",
        f"{TO} --describe --topic seen --unavailable-partitions",
        f"{TO} --describe --topic seen --under-min-isr-partitions",
        f"{TO} --describe --topic s..n",
        f"{TO} --describe --topic=seen",
        f"{TO} -describe -topic seen",
        f"{TO} --list --topic seen,other",
        f"{TO} --list --exclude-internal",
        f"{TO} --list",
    ):
        ours, kafkas = side.both(topics, KAFKAS, line)
        assert configs_sorted(ours.out.splitlines()) == configs_sorted(kafkas.out.splitlines()), line
        assert ours.code == kafkas.code == 0, line


def test_all_topics_are_described(side: SideBySide) -> None:
    make(side, "one-of-two")
    make(side, "two-of-two", "--config", "max.message.bytes=2000")
    for line in (f"{TO} --describe", f"{TO} --describe --exclude-internal --topics-with-overrides"):
        ours, kafkas = side.both(topics, KAFKAS, line)
        assert configs_sorted(ours.lines) == configs_sorted(kafkas.lines)


def test_a_topic_is_created_altered_and_deleted_with_the_same_words(side: SideBySide) -> None:
    for line in (
        "--create --topic NAME --partitions 2 --replication-factor 1",
        "--create --topic NAME --if-not-exists",
        "--create --topic NAME",
        "--alter --topic NAME --partitions 3",
        "--alter --topic NAME --partitions 3",
        "--alter --topic NAME --partitions 1",
        "--delete --topic NAME",
        "--delete --topic NAME",
        "--delete --topic NAME --if-exists",
        "--alter --topic NAME --partitions 5 --if-exists",
        "--describe --topic NAME --if-exists",
        "--describe --topic NAME",
        "--create --topic NAME_x.y --replica-assignment 1,1",
        "--create --topic NAME2 --config no.such=1",
        "--create --topic NAME2 --config retention.ms=soon",
        "--create --topic NAME2 --config retention.ms",
        "--create --topic NAME2 --partitions 0",
        "--create --topic NAME2 --replication-factor 0",
        "--create --topic NAME2 --replication-factor 3",
        "--create --topic NAME2 --replica-assignment 1:1",
        "--create --topic NAME2 --replica-assignment 1:2,1",
        "--create --topic bad/NAME",
    ):
        ours = side.ours(topics, *f"{TO} {line.replace('NAME', 'changed')}".split())
        kafkas = side.kafkas(KAFKAS, *f"{TO} {line.replace('NAME', 'changes')}".split())
        assert ours.out.replace("changed", "changes") == kafkas.out, line
        assert ours.code == kafkas.code, line


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--help",
        "--list",
        f"{TO} --list --create",
        f"{TO}",
        f"{TO} --create",
        f"{TO} --alter --topic a",
        f"{TO} --alter --topic a --config a=b",
        f"{TO} --create --topic a --partitions two",
        f"{TO} --create --topic a --replica-assignment 1 --partitions 2",
        f"{TO} --describe --topic a --config a=b",
        f"{TO} --describe --under-replicated-partitions --topics-with-overrides",
        f"{TO} --list --if-exists",
        f"{TO} --create --topic",
        f"{TO} --nothing",
        f"{TO} --desc",
        f"{TO} --describe --if-exists",
        f"{TO} --list --topic a --topic b",
    ],
)
def test_a_mistake_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(topics, KAFKAS, line)
    assert (ours.code, ours.out) == (kafkas.code, kafkas.out)
    if not kafkas.out:
        assert ours.words_of_complaint == kafkas.words_of_complaint


def test_the_version_is_that_of_kafka(side: SideBySide) -> None:
    ours, kafkas = side.both(topics, KAFKAS, "--version")
    assert (ours.code, ours.out) == (kafkas.code, kafkas.out)
