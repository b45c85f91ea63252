"""`kafka-metadata-quorum`, `kafka-features`, `kafka-broker-api-versions` and `kafka-transactions` beside
Kafka's own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest
from confluent_kafka import KafkaException, Producer

from penstock.cli.kafka.broker_api_versions import broker_api_versions
from penstock.cli.kafka.features import features
from penstock.cli.kafka.metadata_quorum import metadata_quorum
from penstock.cli.kafka.topics import topics
from penstock.cli.kafka.transactions import transactions
from tests.cli.kafka.side_by_side import Said, SideBySide, without

TOOLS = "org.apache.kafka.tools."
TO = "--bootstrap-server SERVERS"
NUMBERS = r"\d{4,}"


def rows(said: Said) -> list[list[str]]:
    """The words of a table, line by line."""
    return [line.split() for line in said.out.splitlines()]


@pytest.mark.parametrize(
    "line",
    [
        f"{TO} describe --status",
        f"{TO} describe --replication",
        f"{TO} describe --status --replication",
        f"{TO} describe",
        f"{TO} describe --status --human-readable",
    ],
)
def test_the_quorum_is_described_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(metadata_quorum, f"{TOOLS}MetadataQuorumCommand", line)
    assert (ours.code, ours.complaint) == (kafkas.code, kafkas.complaint)
    assert without(ours.out, r"\d+") == without(kafkas.out, r"\d+")


def test_the_ages_of_fetches_are_shown_to_people(side: SideBySide) -> None:
    line = f"{TO} describe --replication --human-readable"
    ours, kafkas = side.both(metadata_quorum, f"{TOOLS}MetadataQuorumCommand", line)
    assert [len(row) for row in rows(ours)] == [len(row) for row in rows(kafkas)]


@pytest.mark.parametrize("line", ["describe --status", f"{TO} nothing", f"{TO} describe --nothing"])
def test_a_line_that_cannot_be_read_ends_with_one(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(metadata_quorum, f"{TOOLS}MetadataQuorumCommand", line)
    assert ours.code == kafkas.code == 1
    assert "kafka-metadata-quorum" in ours.err
    assert "kafka-metadata-quorum" in kafkas.err


@pytest.mark.parametrize(
    "line",
    [
        f"{TO} describe",
        f"{TO} version-mapping",
        f"{TO} version-mapping --release-version 3.9",
        f"{TO} version-mapping --release-version 4.0-IV1",
        f"{TO} version-mapping --release-version 9",
        f"{TO} feature-dependencies --feature transaction.version=2 --feature metadata.version=25",
        f"{TO} feature-dependencies --feature eligible.leader.replicas.version=1",
        f"{TO} feature-dependencies --feature nothing=1",
        f"{TO} feature-dependencies --feature group.version=9",
        f"{TO} feature-dependencies --feature group.version",
        f"{TO} feature-dependencies --feature group.version=x",
        f"{TO} upgrade --feature group.version=1 --dry-run",
        f"{TO} upgrade --feature group.version=7",
        f"{TO} upgrade --feature nothing=1",
        f"{TO} upgrade --feature group.version=1 --feature group.version=1",
        f"{TO} upgrade --release-version 4.2 --feature group.version=1",
        f"{TO} upgrade --metadata 9",
        f"{TO} upgrade",
        f"{TO} disable",
        f"{TO} downgrade --feature transaction.version=0 --dry-run",
    ],
)
def test_features_are_managed_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(features, f"{TOOLS}FeatureCommand", line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


@pytest.mark.parametrize("line", [TO, "", "--nothing", f"{TO} --help"])
def test_the_versions_of_requests_are_listed_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(broker_api_versions, f"{TOOLS}BrokerApiVersionsCommand", line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


@pytest.fixture
def open_transaction(side: SideBySide) -> Iterator[tuple[str, str]]:
    """A topic, and a transactional id that has a transaction open in it."""
    topic, name = f"txn-{uuid.uuid4().hex[:8]}", f"id-{uuid.uuid4().hex[:8]}"
    assert side.ours(topics, *f"{TO} --create --topic {topic}".split()).code == 0
    producer = Producer({"bootstrap.servers": side.servers, "transactional.id": name})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(10) == 0
    yield topic, name
    with suppress(KafkaException):  # the test may have ended it
        producer.abort_transaction(10)


@pytest.mark.parametrize(
    "line",
    [
        "list",
        "list --duration-filter 100000",
        "list --transactional-id-pattern NAME",
        "describe --transactional-id NAME",
        "describe --transactional-id nobody",
        "describe-producers --topic TOPIC --partition 0",
        "describe-producers --topic TOPIC --partition 0 --broker-id 1",
        "find-hanging --topic TOPIC",
        "find-hanging --topic TOPIC --partition 0 --max-transaction-timeout 0",
        "find-hanging --broker-id 1",
        "find-hanging",
        "find-hanging --partition 0",
        "abort --topic TOPIC --partition 0",
        "abort --topic TOPIC --partition 0 --start-offset 77",
        "abort --topic TOPIC --partition 0 --producer-id 7",
        "abort --topic TOPIC --partition 0 --producer-id 7 --producer-epoch 0",
    ],
)
def test_transactions_are_shown_as_kafka_does(
    side: SideBySide, open_transaction: tuple[str, str], line: str
) -> None:
    topic, name = open_transaction
    line = f"{TO} {line.replace('TOPIC', topic).replace('NAME', name)}"
    ours, kafkas = side.both(transactions, f"{TOOLS}TransactionsCommand", line)
    assert (ours.code, ours.complaint) == (kafkas.code, kafkas.complaint)
    assert sorted(row_without_times(ours)) == sorted(row_without_times(kafkas))


def row_without_times(said: Said) -> list[list[str]]:
    return [[without(word, rf"^{NUMBERS}$|^\d+$") for word in row] for row in rows(said)]


def test_an_open_transaction_is_ended_by_force(side: SideBySide, open_transaction: tuple[str, str]) -> None:
    _, name = open_transaction
    describe = f"{TO} describe --transactional-id {name}".split()
    assert "Ongoing" in side.ours(transactions, *describe).out
    done = side.ours(transactions, *f"{TO} forceTerminateTransaction --transactionalId {name}".split())
    assert done.code == 0, done.err
    assert "Ongoing" not in side.ours(transactions, *describe).out


def test_an_aborted_transaction_is_no_longer_open(
    side: SideBySide, open_transaction: tuple[str, str]
) -> None:
    topic, _ = open_transaction
    line = f"{TO} abort --topic {topic} --partition 0 --start-offset 0"
    assert side.ours(transactions, *line.split()) == Said(0, "", "")
    left = side.ours(transactions, *f"{TO} describe-producers --topic {topic} --partition 0".split())
    assert rows(left)[1][-1] == "None"
