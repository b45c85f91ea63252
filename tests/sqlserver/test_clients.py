"""Clients that we did not write: `ksqldb` of PyPI, and the lines of curl that ksqlDB's documentation has."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from ksqldb import KSQLdbClient

from tests.sqlserver.servers import EARLIEST, Server
from tests.sqlserver.test_statements import create


def test_the_ksqldb_client_of_pypi_works_unchanged(server: Server, name: str) -> None:
    client = KSQLdbClient(server.url)
    (made,) = client.ksql(
        f"CREATE STREAM {name} (id INT KEY, v STRING) "
        f"WITH (kafka_topic='{name}', value_format='JSON', partitions=1);"
    )
    assert made["commandStatus"]["status"] == "SUCCESS"
    rows = [{"ID": 1, "V": "a"}, {"ID": 2, "V": "b"}]
    assert [line["status"] for line in client.inserts_stream(name, rows)] == ["ok", "ok"]
    header, *found = client.query_sync(f"SELECT * FROM {name};")
    assert (header["columnNames"], found) == (["ID", "V"], [[1, "a"], [2, "b"]])
    assert any(each["name"] == "ksql.service.id" for each in client.get_properties())
    assert not client.close_query("absent")


def curl(*arguments: str) -> str:
    found = shutil.which("curl")
    if found is None:
        pytest.fail("curl is missing")
    return subprocess.run(
        [found, "-s", "-S", *arguments], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_the_lines_of_the_documentation_work_unchanged(server: Server, name: str) -> None:
    create(server, name)
    ksql_type = "Content-Type: application/vnd.ksql.v1+json; charset=utf-8"
    statement = {"ksql": f"INSERT INTO {name} VALUES (1, 'ann', 10);", "streamsProperties": {}}
    assert curl("-X", "POST", f"{server.url}/ksql", "-H", ksql_type, "-d", json.dumps(statement)) == "[]"
    listed = curl(
        "-X", "POST", f"{server.url}/ksql", "-H", "Accept: application/vnd.ksql.v1+json",
        "-d", '{"ksql": "LIST STREAMS;", "streamsProperties": {}}',
    )  # fmt: skip
    assert json.loads(listed)[0]["@type"] == "streams"
    query: dict[str, Any] = {
        "ksql": f"SELECT * FROM {name} EMIT CHANGES LIMIT 1;",
        "streamsProperties": EARLIEST,
    }
    older = curl("-X", "POST", f"{server.url}/query", "-H", "Accept: application/vnd.ksql.v1+json",
                 "-d", json.dumps(query))  # fmt: skip
    assert json.loads(older)[1] == {"row": {"columns": [1, "ann", 10]}}
    newer = {"sql": f"SELECT * FROM {name} EMIT CHANGES LIMIT 1;", "properties": EARLIEST}
    told = curl("--http2", "-X", "POST", f"{server.url}/query-stream", "-d", json.dumps(newer))
    assert json.loads(told.split()[1]) == [1, "ann", 10]
    sent = f'{{"target":"{name}"}}\n{{"ID":5}}\n'
    told = curl("--http2", "-X", "POST", f"{server.url}/inserts-stream", "--data-binary", sent)
    assert json.loads(told) == {"status": "ok", "seq": 0}
    assert json.loads(curl("-sX", "GET", f"{server.url}/healthcheck"))["isHealthy"] is True
    assert "KsqlServerInfo" in curl("-sX", "GET", f"{server.url}/info")
