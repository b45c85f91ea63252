"""Several servers of one service id: they share the queries, and take over those of a server that is killed.

One of the queries reads records that are no JSON: they are entries of the processing log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Sender
from penstock.sqlserver.members import owner_of
from tests.sqlserver.servers import Server, kill, running_server, start_server
from tests.sqlserver.test_killed import committed, send

pytestmark = pytest.mark.timeout(900)
QUERIES, ROUND = 4, 100


def until(wanted: Callable[[], Any], within_s: float = 300) -> Any:
    deadline = time.monotonic() + within_s
    while not (found := wanted()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


def shared(server: Server) -> dict[str, set[str]]:
    """The queries of each server that is alive, as one of them says."""
    found = server.client.get("/clusterStatus").json()["clusterStatus"]
    return {name: set(each["activeStandbyPerQuery"]) for name, each in found.items() if each["hostAlive"]}


def lines(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ksql("SHOW QUERIES;")[0]["queries"]
    return found


def ids(bootstrap_servers: str, topic: str) -> list[int]:
    return sorted(int.from_bytes(each.key or b"", "big") for each in committed(bootstrap_servers, topic))


def test_queries_are_shared_and_taken_over(bootstrap_servers: str, tmp_path: Path) -> None:
    def settings(number: int) -> dict[str, str]:
        return {
            "ksql_service_id": "shared_",
            "ksql_streams_state_dir": str(tmp_path / str(number)),
            "ksql_streams_session_timeout_ms": "6000",
            "ksql_logging_processing_topic_auto_create": "true",
            "ksql_logging_processing_stream_auto_create": "true",
        }

    first = start_server(bootstrap_servers, **settings(1))
    with running_server(bootstrap_servers, **settings(2)) as second:
        try:
            until(lambda: len(shared(first)) == len(shared(second)) == 2)
            first.ksql(
                "CREATE STREAM shared_in (id INT KEY, who STRING, amount BIGINT) "
                "WITH (kafka_topic='shared_in', value_format='JSON', partitions=2);"
            )
            for number in range(QUERIES):
                first.ksql(f"CREATE STREAM shared_{number} AS SELECT id, amount FROM shared_in;")
            names = {f"CSAS_SHARED_{number}_{number + 2}" for number in range(QUERIES)}
            assert until(lambda: set.union(*shared(second).values()) == names)
            assert shared(first) == shared(second)
            for address, owned in shared(first).items():
                assert {owner_of(name, list(shared(first))) for name in owned} <= {address}
            send(bootstrap_servers, "shared_in", 0, ROUND)
            with Sender(Connection(bootstrap_servers, 30)) as sender:
                sender.send("shared_in", NewRecord(b"no JSON", (0).to_bytes(4, "big")))
            for number in range(QUERIES):
                until(lambda at=number: len(ids(bootstrap_servers, f"SHARED_{at}")) == ROUND)
        finally:
            kill(first)
        send(bootstrap_servers, "shared_in", ROUND, ROUND)
        until(lambda: shared(second) == {second.address: names})
        for number in range(QUERIES):
            until(lambda at=number: len(ids(bootstrap_servers, f"SHARED_{at}")) >= 2 * ROUND)
            assert ids(bootstrap_servers, f"SHARED_{number}") == list(range(2 * ROUND))
        entries = [
            json.loads(each.value or b"")
            for each in committed(bootstrap_servers, "shared_ksql_processing_log")
        ]
        assert {entry["logger"].split(".")[1] for entry in entries} == names
        assert {entry["message"]["deserializationError"]["topic"] for entry in entries} == {"shared_in"}
        columns = "logger, message->deserializationError->target"
        logged = second.rows(f"SELECT {columns} FROM ksql_processing_log;")
        assert len(logged) == QUERIES == len(entries)
        assert {row[1] for row in logged} == {"value"}
        until(lambda: [each["skippedRecords"] for each in lines(second)] == [1] * QUERIES)
        assert "deserialize value" in lines(second)[0]["lastMessage"]
        (described,) = second.ksql("DESCRIBE shared_0 EXTENDED;")
        (summary,) = described["sourceDescription"]["queryOffsetSummaries"]
        (topic,) = summary["topicSummaries"]
        assert (summary["groupId"], topic["kafkaTopic"]) == (
            "_confluent-ksql-shared_query_CSAS_SHARED_0_2",
            "shared_in",
        )
        assert sum(each["consumerOffset"] for each in topic["offsets"]) == 2 * ROUND + 1
        second.ksql("TERMINATE ALL;")
