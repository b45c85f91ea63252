"""`kafka-share-groups` beside Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.cli.kafka.share_groups import share_groups
from penstock.cli.kafka.topics import topics
from penstock.client import Admin, ShareConsumer
from penstock.client.api.admin.configs import AlterConfigOp, ConfigResource
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
TO = "--bootstrap-server SERVERS"


def make(side: SideBySide, topic: str, group: str) -> None:
    """A topic with two partitions of five records."""
    assert side.ours(topics, *TO.split(), "--create", "--topic", topic, "--partitions", "2").code == 0
    producer = Producer({"bootstrap.servers": side.servers})
    for number in range(10):
        producer.produce(
            topic, str(number), partition=number % 2, timestamp=1_700_000_000_000 + number * 1000
        )
    assert producer.flush(10) == 0
    with Admin({"bootstrap.servers": side.servers}) as admin:
        wanted = {ConfigResource("GROUP", group): [AlterConfigOp("share.auto.offset.reset", "earliest")]}
        admin.incremental_alter_configs(wanted).all().result(30)


def reader(side: SideBySide, topic: str, group: str) -> ShareConsumer:
    consumer = ShareConsumer({"bootstrap.servers": side.servers, "group.id": group, "client.id": "reader"})
    consumer.subscribe([topic])
    seen = 0
    while seen < 10:
        seen += len(list(consumer.poll(1.0)))
    consumer.commit_sync()
    return consumer


def same(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(share_groups, KAFKAS, f"{TO} {line}")
    assert (ours.code, ours.lines) == (kafkas.code, kafkas.lines), line


@pytest.mark.timeout(300)
def test_share_groups_are_listed_described_and_changed_as_kafka_does(
    side: SideBySide, tmp_path: Path
) -> None:
    make(side, "shared-work", "sharing-work")
    with reader(side, "shared-work", "sharing-work"):
        for line in (
            "--list",
            "--list --state",
            "--list --state stable",
            "--describe --group sharing-work",
            "--describe --group sharing-work --verbose",
            "--describe --group sharing-work --members",
            "--describe --group sharing-work --members --verbose",
            "--describe --group sharing-work --state",
            "--describe --group sharing-work --state --verbose",
            "--delete --group sharing-work",
            "--describe --group nobody",
            "--delete --group nobody",
        ):
            same(side, line)
        refused, _ = side.both(
            share_groups,
            KAFKAS,
            f"{TO} --reset-offsets --group sharing-work --topic shared-work --to-latest --execute",
        )
        assert (refused.code, refused.complaint) == (1, "Share group 'sharing-work' is not empty.")
    for line in (
        "--describe --group sharing-work --members",
        "--describe --all-groups --state",
        "--reset-offsets --group sharing-work --topic shared-work --to-earliest --dry-run",
        "--reset-offsets --group sharing-work --topic shared-work:1 --to-earliest --execute",
        "--describe --group sharing-work",
        "--reset-offsets --group sharing-work --all-topics --to-datetime 2023-11-14T22:13:24.000 --execute",
        "--delete-offsets --group sharing-work --topic nobodys",
        "--delete-offsets --group nobody --topic shared-work",
    ):
        same(side, line)
    forgotten = side.ours(
        share_groups, *f"{TO} --delete-offsets --group sharing-work --topic shared-work".split()
    )
    assert forgotten.lines == ["", "TOPIC           STATUS", "shared-work     Successful"]
    gone = side.ours(share_groups, *f"{TO} --delete --group sharing-work".split())
    assert gone.lines == ["Deletion of requested share groups ('sharing-work') was successful."]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list --describe",
        "--describe",
        "--delete",
        "--describe --group a --members --state",
        "--describe --all-groups --group a",
        "--reset-offsets --group a",
        "--reset-offsets --group a --topic t --execute --dry-run",
        "--delete-offsets --group a",
        "--list --state wrong",
    ],
)
def test_options_that_do_not_go_together_are_refused_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(share_groups, KAFKAS, f"{TO} {line}")
    assert (ours.code, ours.words_of_complaint) == (kafkas.code, kafkas.words_of_complaint)
