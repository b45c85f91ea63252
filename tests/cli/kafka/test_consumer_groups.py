"""`kafka-consumer-groups` beside Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.cli.kafka.consumer_groups import consumer_groups
from penstock.cli.kafka.group_reset import duration_ms, moment_of
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TO = "--bootstrap-server SERVERS"


def make(side: SideBySide, topic: str, group: str) -> None:
    """A topic with two partitions of five records, and a group that has read 2 and 3 of them."""
    assert side.ours(topics, *TO.split(), "--create", "--topic", topic, "--partitions", "2").code == 0
    producer = Producer({"bootstrap.servers": side.servers})
    for number in range(10):
        producer.produce(
            topic, str(number), partition=number % 2, timestamp=1_700_000_000_000 + number * 1000
        )
    assert producer.flush(10) == 0
    consumer = Consumer({"bootstrap.servers": side.servers, "group.id": group})
    offsets = [TopicPartition(topic, 0, 2), TopicPartition(topic, 1, 3)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def test_a_group_without_members_is_listed_and_described_as_kafka_does(side: SideBySide) -> None:
    make(side, "read-by-none", "without-members")
    for line in (
        "--list",
        "--list --state",
        "--list --type",
        "--list --type classic --state empty,stable",
        "--list --state stable",
        "--describe --group without-members",
        "--describe --group without-members --offsets --verbose",
        "--describe --group without-members --state",
        "--describe --group without-members --state --verbose",
        "--describe --group without-members --members",
        "--describe --group without-members --members --verbose",
        "--describe --all-groups --state",
    ):
        ours, kafkas = side.both(consumer_groups, KAFKAS, f"{TO} {line}")
        assert (ours.code, ours.lines) == (kafkas.code, kafkas.lines), line
        assert ours.err == kafkas.err or "SLF4J" in kafkas.err, line


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_a_member_is_described_as_kafka_does(side: SideBySide, protocol: str) -> None:
    topic, group = f"read-{protocol}", f"reading-{protocol}"
    make(side, topic, group)
    settings = {"bootstrap.servers": side.servers, "group.id": group, "group.protocol": protocol}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "client.id": "reader"})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    try:
        for view in (
            "",
            "--offsets --verbose",
            "--state",
            "--state --verbose",
            "--members",
            "--members --verbose",
        ):
            ours, kafkas = side.both(consumer_groups, KAFKAS, f"{TO} --describe --group {group} {view}")
            assert (ours.code, ours.out) == (kafkas.code, kafkas.out), view
        for line in (
            f"--delete --group {group}",
            f"--reset-offsets --group {group} --topic {topic} --to-earliest --execute",
            f"--delete-offsets --group {group} --topic {topic}",
        ):
            ours, kafkas = side.both(consumer_groups, KAFKAS, f"{TO} {line}")
            assert (ours.code, ours.lines) == (kafkas.code, kafkas.lines), line
    finally:
        consumer.close()


def test_offsets_are_planned_and_reset_as_kafka_does(side: SideBySide, tmp_path: Path) -> None:
    make(side, "to-reset", "resetting")
    plan = tmp_path / "plan.csv"
    plan.write_text("to-reset,0,1\nto-reset,1,99\n")
    for line in (
        "--topic to-reset --to-earliest --dry-run",
        "--topic to-reset --to-latest --dry-run",
        "--topic to-reset:1 --to-offset 4 --dry-run",
        "--all-topics --to-offset 77 --dry-run",
        "--all-topics --shift-by -1 --dry-run",
        "--all-topics --shift-by 1 --export --dry-run",
        "--all-topics --to-current --dry-run",
        "--topic to-reset --to-datetime 2023-11-14T22:13:24.000 --dry-run",
        "--topic to-reset --to-datetime 2033-11-14T22:13:24.000 --dry-run",
        "--topic to-reset --by-duration PT1M --dry-run",
        f"--from-file {plan} --dry-run",
        "--topic no-such-topic --to-earliest --dry-run",
        "--topic to-reset --to-earliest",
        "--topic to-reset --to-offset 1 --execute",
    ):
        ours, kafkas = side.both(consumer_groups, KAFKAS, f"{TO} --reset-offsets --group resetting {line}")
        assert (ours.code, ours.lines) == (kafkas.code, kafkas.lines), line
        assert (
            ours.complaint == kafkas.complaint or not ours.complaint or ours.complaint.startswith("WARN")
        ), line
    said = side.ours(consumer_groups, *f"{TO} --describe --group resetting".split())
    assert [row.split()[3] for row in said.out.splitlines()[2:]] == ["1", "1"]


def test_offsets_and_groups_are_deleted_as_kafka_does(side: SideBySide) -> None:
    make(side, "to-delete", "deleting-ours")
    make_group(side, "to-delete", "deleting-kafkas")
    for line in (
        "--delete-offsets --group GROUP --topic to-delete:0",
        "--delete-offsets --group GROUP --topic to-delete",
        "--delete-offsets --group nobody --topic to-delete:0",
        "--delete --group GROUP",
        "--delete --group GROUP",
        "--describe --group nobody",
    ):
        ours = side.ours(consumer_groups, *f"{TO} {line.replace('GROUP', 'deleting-ours')}".split())
        kafkas = side.kafkas(KAFKAS, *f"{TO} {line.replace('GROUP', 'deleting-kafkas')}".split())
        assert ours.code == kafkas.code, line
        assert ours.out.replace("deleting-ours", "deleting-kafkas") == kafkas.out, line


def make_group(side: SideBySide, topic: str, group: str) -> None:
    consumer = Consumer({"bootstrap.servers": side.servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 2), TopicPartition(topic, 1, 3)], asynchronous=False)
    consumer.close()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list",
        TO,
        f"{TO} --list --describe --group a",
        f"{TO} --describe",
        f"{TO} --delete",
        f"{TO} --delete --group a --topic b",
        f"{TO} --delete-offsets --group a",
        f"{TO} --describe --group a --members --state",
        f"{TO} --describe --group a --state stable",
        f"{TO} --describe --group a --topic b",
        f"{TO} --describe --group a --all-groups",
        f"{TO} --list --group a",
        f"{TO} --list --state wrong",
        f"{TO} --list --type wrong",
        f"{TO} --reset-offsets --to-earliest --dry-run",
        f"{TO} --reset-offsets --group a --dry-run --execute",
        f"{TO} --reset-offsets --group a --all-topics --to-earliest --to-latest --dry-run",
    ],
)
def test_a_mistake_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(consumer_groups, KAFKAS, line)
    assert (ours.code, ours.out) == (kafkas.code, kafkas.out)
    assert ours.words_of_complaint == kafkas.words_of_complaint


@pytest.mark.parametrize("pattern", ["a.*", "("])
def test_the_expression_of_a_subscription_is_validated(side: SideBySide, pattern: str) -> None:
    """The verdict is Kafka's; the reason is in the words of Google's RE2 and not of its Java port."""
    ours, kafkas = side.both(consumer_groups, KAFKAS, f"--validate-regex {pattern}")
    assert (ours.code, ours.out.split(":")[0]) == (kafkas.code, kafkas.out.split(":")[0])


def test_times_and_durations_are_read_as_java_reads_them() -> None:
    assert moment_of("2023-11-14T22:13:20.000") == 1_700_000_000_000
    assert moment_of("2023-11-14T23:13:20.000+0100") == 1_700_000_000_000
    assert duration_ms("P1DT2H3M4.5S") == 93_784_500
    assert duration_ms("-PT1M") == -60_000
