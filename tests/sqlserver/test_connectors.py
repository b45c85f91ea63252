"""Statements of connectors, against a real Connect worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.worker import Worker
from tests.sqlserver.servers import Server, running_server

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def connected(bootstrap_servers: str, files: Path) -> Iterator[Server]:
    worker = Worker(bootstrap_servers, str(files), group_id="of-sql", session_timeout_ms="6000").start()
    try:
        with running_server(
            bootstrap_servers, ksql_service_id="connected_", ksql_connect_url=worker.url
        ) as running:
            yield running
    finally:
        worker.kill()


def create(name: str, files: Path, absent: str = "") -> str:
    return (
        f"CREATE SOURCE CONNECTOR {absent} `{name}` WITH ('connector.class'='{FILE_SOURCE}', 'tasks.max'=1, "
        f"'file'='{files / 'nowhere.txt'}', 'topic'='{name}');"
    )


def test_a_connector_is_created_listed_described_and_dropped(connected: Server, files: Path) -> None:
    (made,) = connected.ksql(create("lines", files))
    assert made["@type"] == "connector_info"
    assert made["info"]["config"]["tasks.max"] == "1"
    (again,) = connected.ksql(create("lines", files, "IF NOT EXISTS"))
    assert (again["@type"], again["message"]) == ("warning_entity", "Connector lines already exists")
    refused = connected.ksql(create("lines", files), 400)
    assert refused["message"].startswith("Failed to create connector: ")
    listed, sinks, plugins, described = connected.ksql(
        "SHOW CONNECTORS; SHOW SINK CONNECTORS; LIST CONNECTOR PLUGINS; DESCRIBE CONNECTOR `lines`;"
    )
    assert [(each["name"], each["type"]) for each in listed["connectors"]] == [("lines", "source")]
    assert sinks["connectors"] == []
    assert FILE_SOURCE in [each["class"] for each in plugins["connectorsPlugins"]]
    assert (described["connectorClass"], described["status"]["name"]) == (FILE_SOURCE, "lines")
    (dropped,) = connected.ksql("DROP CONNECTOR `lines`;")
    assert (dropped["@type"], dropped["connectorName"]) == ("drop_connector", "lines")
    (nothing,) = connected.ksql("DROP CONNECTOR IF EXISTS `lines`;")
    assert nothing["message"] == "Connector 'lines' does not exist."
    assert connected.ksql("DROP CONNECTOR `lines`;", 400)["error_code"] == 40001


def test_a_worker_that_is_not_there_is_named(server: Server) -> None:
    answer = server.ksql("SHOW CONNECTORS;", 500)
    assert "No Connect worker answers at http://localhost:8083" in answer["message"]
