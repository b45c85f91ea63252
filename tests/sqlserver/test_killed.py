"""Persistent queries on Spark: an aggregate end to end, and a server that is killed while records flow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Sender
from penstock.plan.raw_records import RawRecord
from penstock.sqlserver.topic_reading import TopicReader, starting_offsets
from tests.sqlserver.servers import kill, running_server, start_server

pytestmark = pytest.mark.timeout(300)
KEYS, ROUND = 5, 400


def send(bootstrap_servers: str, topic: str, first: int, count: int) -> None:
    with Sender(Connection(bootstrap_servers, 30)) as sender:
        for number in range(first, first + count):
            value = json.dumps({"who": f"w{number % KEYS}", "amount": number}).encode()
            sender.send(topic, NewRecord(value, number.to_bytes(4, "big")))


def committed(bootstrap_servers: str, topic: str) -> list[RawRecord]:
    """Every record of a topic that a reader of committed ones sees."""
    starts = starting_offsets(Admin(bootstrap_servers), (topic,), "earliest")
    found: list[RawRecord] = []
    with TopicReader(Connection(bootstrap_servers, 30), starts) as reader:
        while not reader.at_end:
            found += reader.poll(1)
    return found


def test_queries_of_a_killed_server_go_on_exactly_once(bootstrap_servers: str, tmp_path: Path) -> None:
    settings = {"ksql_service_id": "killed_", "ksql_streams_state_dir": str(tmp_path)}
    server = start_server(bootstrap_servers, **settings)
    try:
        server.ksql(
            "CREATE STREAM orders (id INT KEY, who STRING, amount BIGINT) "
            "WITH (kafka_topic='orders', value_format='JSON', partitions=2);"
            "CREATE STREAM doubled AS SELECT id, who, amount * 2 AS twice FROM orders EMIT CHANGES;"
            "CREATE TABLE totals AS SELECT who, COUNT(*) AS n, SUM(amount) AS total FROM orders "
            "GROUP BY who EMIT CHANGES;"
        )
        send(bootstrap_servers, "orders", 0, ROUND)  # before Spark is up: a query begins where it was made
        server.wait_for_rows("SELECT n FROM totals;", lambda rows: sum(row[0] for row in rows) == ROUND, 150)
        send(bootstrap_servers, "orders", ROUND, ROUND)
    finally:
        kill(server)
    send(bootstrap_servers, "orders", 2 * ROUND, ROUND)
    with running_server(bootstrap_servers, **settings) as again:
        (queries,) = again.ksql("SHOW QUERIES;")
        assert [query["id"] for query in queries["queries"]] == ["CSAS_DOUBLED_1", "CTAS_TOTALS_2"]
        rows = again.wait_for_rows(
            "SELECT * FROM totals;", lambda found: sum(row[1] for row in found) == 3 * ROUND, 150
        )
        sums = {f"w{key}": sum(range(key, 3 * ROUND, KEYS)) for key in range(KEYS)}
        assert {row[0]: row[2] for row in rows} == sums
        assert again.rows("SELECT n FROM totals WHERE who = 'w1';") == [[3 * ROUND // KEYS]]
        again.wait_for_rows("SELECT id FROM doubled;", lambda found: len(found) >= 3 * ROUND, 150)
        records = committed(bootstrap_servers, "DOUBLED")
        assert sorted(int.from_bytes(each.key or b"", "big") for each in records) == list(range(3 * ROUND))
        again.ksql("DROP TABLE totals DELETE TOPIC; DROP STREAM doubled;")
        assert again.ksql("SHOW QUERIES;")[0]["queries"] == []
