"""`penstock transaction …` against a broker, with a transactional producer at work."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from penstock.protocol.apis import Api
from penstock.records.record import Record, encode_batch
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from tests.cli.commands import CommandLine

SECONDS = 10


@pytest.fixture
def open_producer(cli: CommandLine) -> Producer:
    """One with a transaction open in t-1, where it begins at offset 0."""
    cli("topic", "create", "t", "--partitions", "2")
    producer = Producer({"bootstrap.servers": cli.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce("t", "x", partition=1)
    producer.flush(SECONDS)
    return producer


@pytest.mark.usefixtures("open_producer")
def test_transactions_are_listed_by_state(cli: CommandLine) -> None:
    assert cli("transaction", "list").out.split("\t")[0] == "tx"
    listed = json.loads(cli("transaction", "list", "--state", "Ongoing", "--json").out)
    assert (listed["transactional_id"], listed["coordinator"], listed["state"]) == ("tx", 1, "Ongoing")
    assert cli("transaction", "list", "--state", "Empty").out == ""
    unknown = cli("transaction", "list", "--state", "Sleeping")
    assert (unknown.code, "There is no state Sleeping" in unknown.err) == (1, True)


@pytest.mark.usefixtures("open_producer")
def test_a_transaction_is_described_with_its_partitions(cli: CommandLine) -> None:
    assert "State\tOngoing" in cli("transaction", "describe", "tx").out
    described = json.loads(cli("transaction", "describe", "tx", "--json").out)
    assert (described["partitions"], described["timeout_ms"]) == ([["t", 1]], 60_000)
    missing = cli("transaction", "describe", "nobody")
    assert (missing.code, "TRANSACTIONAL_ID_NOT_FOUND" in missing.err) == (1, True)


def test_a_transaction_that_its_coordinator_knows_does_not_hang(
    cli: CommandLine, open_producer: Producer
) -> None:
    assert cli("transaction", "find-hanging", "--max-transaction-timeout", "0").out == ""
    open_producer.commit_transaction(SECONDS)


def test_a_hanging_transaction_is_found_and_aborted(cli: CommandLine) -> None:
    """One that nobody knows: written as an old broker would have let it in, without a coordinator."""
    cli("topic", "create", "t")
    hang(cli.bootstrap_servers)
    found = json.loads(cli("transaction", "find-hanging", "--max-transaction-timeout", "0", "--json").out)
    assert (found["topic"], found["partition"], found["start_offset"]) == ("t", 0, 0)
    assert found["producer_id"] == 77
    place = ("--topic", "t", "--partition", "0", "--start-offset")
    assert "No transaction that begins at offset 9" in cli("transaction", "abort", *place, "9").err
    assert "is aborted" in cli("transaction", "abort", *place, "0").out
    assert cli("transaction", "find-hanging", "--topic", "t", "--max-transaction-timeout", "0").out == ""


def test_a_partition_needs_its_topic(cli: CommandLine) -> None:
    assert cli("transaction", "find-hanging", "--partition", "0").code == 2


def hang(servers: str, name: str = "t") -> None:
    """A transaction in partition 0 that no coordinator knows of: nothing is verified meanwhile."""
    cluster, deadline = Cluster(servers), Deadline(SECONDS)
    entry = {
        "name": "transaction.partition.verification.enable",
        "config_operation": 0,
        "value": "false",
    }
    change = {"resource_type": 4, "resource_name": "", "configs": [entry]}
    batch = encode_batch(
        [Record(None, b"x", timestamp_ms=1)], producer_id=77, producer_epoch=0, base_sequence=0,
        transactional=True,
    )  # fmt: skip
    topic = {"name": name, "partition_data": [{"index": 0, "records": bytes(batch)}]}
    produced = {"transactional_id": "gone", "acks": -1, "timeout": 1000, "topic_data": [topic]}
    with cluster.any_connection(deadline) as connection:
        fields = {"resources": [change], "validate_only": False}
        connection.call(Api.INCREMENTAL_ALTER_CONFIGS, fields, deadline, oldest=1, newest=1)
        answer = connection.call(Api.PRODUCE, produced, deadline, oldest=9, newest=9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    cluster.close()
