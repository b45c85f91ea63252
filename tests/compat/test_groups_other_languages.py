"""franz-go, sarama and kafkajs: each produces and consumes in a group. Long: they are fetched and compiled
where they are run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from tests.compat.churn import SETTINGS
from tests.peers.apache_kafka import cache_dir

SOURCES = Path(__file__).with_name("other_clients")
RECORDS = 300
FETCH_SECONDS = 240
RUN_SECONDS = 90
GO_MODULES = {
    "franz": "github.com/twmb/franz-go@v1.22.2",
    "franz_transactions": "github.com/twmb/franz-go@v1.22.2",
    "franz_secured": "github.com/twmb/franz-go@v1.22.2",
    "sarama": "github.com/IBM/sarama@v1.46.3",
}
KAFKAJS = "kafkajs@2.2.4"

pytestmark = [pytest.mark.long, pytest.mark.timeout(FETCH_SECONDS + RUN_SECONDS)]


def _run(command: list[str], work: Path, seconds: int) -> str:
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def go_program(name: str) -> list[str]:
    if shutil.which("go") is None:
        pytest.skip("there is no `go` on the PATH")
    work = cache_dir() / f"go-{name}"
    work.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / f"{name}.go", work / "main.go")
    if not (work / "go.mod").exists():
        _run(["go", "mod", "init", "penstock/tests"], work, FETCH_SECONDS)
        _run(["go", "get", GO_MODULES[name]], work, FETCH_SECONDS)
        _run(["go", "mod", "tidy"], work, FETCH_SECONDS)
    _run(["go", "build", "-o", "program", "main.go"], work, FETCH_SECONDS)
    return [str(work / "program")]


def node_program() -> list[str]:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no `node` and `npm` on the PATH")
    work = cache_dir() / "node-kafkajs"
    work.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / "kafkajs.js", work / "main.js")
    if not (work / "node_modules" / "kafkajs").is_dir():
        _run(["npm", "install", "--no-audit", "--no-fund", KAFKAJS], work, FETCH_SECONDS)
    return ["node", str(work / "main.js")]


@pytest.mark.parametrize("client", ["franz", "sarama", "kafkajs"])
def test_it_produces_and_consumes_in_a_group_and_commits(client: str, tmp_path: Path) -> None:
    program = node_program() if client == "kafkajs" else go_program(client)
    with Broker(settings=SETTINGS) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("t", 4)])["t"].result(10)
        said = _run([*program, servers, "t", str(RECORDS)], tmp_path, RUN_SECONDS)
        assert said.split()[-2:] == ["read", str(RECORDS)]
        wanted = [ConsumerGroupTopicPartitions(client)]
        told = admin.list_consumer_group_offsets(wanted)[client].result(10)
        assert sum(part.offset for part in told.topic_partitions) == RECORDS
