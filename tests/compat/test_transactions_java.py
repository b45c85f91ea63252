"""Transactions of the Java client, and Kafka's own tools for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.testing import Broker
from tests.cli.test_transaction import hang
from tests.compat.test_groups_java import make_topic
from tests.peers.java_programs import JavaPrograms

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    settings = {
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    with Broker(data=str(tmp_path / "data"), settings=settings) as running:
        yield running


def test_the_java_client_copies_is_fenced_and_times_out(broker: Broker, java_programs: JavaPrograms) -> None:
    for name in ("java-in", "java-out", "java-fenced", "java-timed"):
        make_topic(broker.bootstrap_servers, name, 2)
    said = java_programs.run("TransactionCheck", broker.bootstrap_servers)
    assert said.split("\n")[:3] == ["copied ok", "fenced ok", "timed-out ok"]


def test_kafkas_tool_lists_describes_aborts_and_finds_transactions(
    broker: Broker, java_programs: JavaPrograms
) -> None:
    servers = broker.bootstrap_servers
    make_topic(servers, "t", 2)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("t", "open", partition=1)
    producer.flush(10)
    at = ("--bootstrap-server", servers)
    rows = _table(java_programs.run(TRANSACTIONS, *at, "list"))
    assert [(row[0], row[3]) for row in rows] == [("tx", "Ongoing")]
    (row,) = _table(java_programs.run(TRANSACTIONS, *at, "describe", "--transactional-id", "tx"))
    assert (row[1], row[4], row[5], row[-1]) == ("tx", "Ongoing", "60000", "t-1")
    describe = ("describe-producers", "--topic", "t", "--partition", "1")
    (open_one,) = _table(java_programs.run(TRANSACTIONS, *at, *describe))
    assert open_one[-1] == "0"  # where its transaction begins
    java_programs.run(TRANSACTIONS, *at, "abort", "--topic", "t", "--partition", "1", "--start-offset", "0")
    (ended,) = _table(java_programs.run(TRANSACTIONS, *at, *describe))
    assert ended[-1] == "None"
    make_topic(servers, "hung", 1)
    hang(servers, "hung")
    search = ("--topic", "hung", "--max-transaction-timeout", "1")
    (found,) = _table(java_programs.run(TRANSACTIONS, *at, "find-hanging", *search))
    assert found[:3] == ["hung", "0", "77"]


def test_kafkas_dump_tool_reads_our_transaction_log(
    broker: Broker, tmp_path: Path, java_programs: JavaPrograms
) -> None:
    servers = broker.bootstrap_servers
    make_topic(servers, "t", 2)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "tx"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("t", "x", partition=1)
    producer.commit_transaction(10)
    broker.stop()
    log = tmp_path / "data" / "__transaction_state-0" / "00000000000000000000.log"
    said = java_programs.run("kafka.tools.DumpLogSegments", "--transaction-log-decoder", "--files", str(log))
    values = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", said)]
    assert [value["data"]["transactionStatus"] for value in values] == [0, 1, 2, 4]
    assert values[2]["data"]["transactionPartitions"] == [{"topic": "t", "partitionIds": [1]}]


def _table(said: str) -> list[list[str]]:
    """The rows of a printed table without its heading."""
    return [line.split() for line in said.splitlines() if line.strip()][1:]
