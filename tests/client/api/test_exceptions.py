"""Java's client and ours in the same situations: the same exceptions, in the same places. The table of
docs/client-exceptions.md is checked here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.client import Admin, NewTopic, Producer
from penstock.testing import Broker
from penstock.testing.cluster import Cluster
from tests.client.api.situations import Situations, Told
from tests.faults.clusters import QUICK
from tests.peers.java_programs import JavaPrograms

DOCUMENT = Path(__file__).parents[3] / "docs" / "client-exceptions.md"
BEGIN, END = "<!-- situations -->", "<!-- end of the situations -->"
TOPICS = {
    "plain": {},
    "words": {},
    "small": {"max.message.bytes": "1000"},
    "timed": {"message.timestamp.before.max.ms": "1000"},
    "compacted": {"cleanup.policy": "compact"},
}
SETTINGS = {"auto.create.topics.enable": "false", "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1"}  # fmt: skip


def make_topics(servers: str) -> None:
    with Admin({"bootstrap.servers": servers}) as admin:
        made = [NewTopic(name, 1, 1, configs=configs) for name, configs in TOPICS.items()]
        admin.create_topics(made).all().result(30)
    with Producer({"bootstrap.servers": servers}) as producer:
        producer.send("words", b"no number").result(30)
        producer.send("plain", b"text").result(30)


def of_java(said: str) -> Told:
    return dict(line.split("\t") for line in said.splitlines() if "\t" in line)


def while_away(data: Path, run: Callable[[str, Path], Told], directory: Path) -> Told:
    """The broker goes and comes back, then goes for good, as the files say."""
    directory.mkdir()
    found: list[Told] = []
    broker = Broker(data=str(data), settings=SETTINGS)
    broker.start()
    make_topics(broker.bootstrap_servers)
    worker = threading.Thread(target=lambda: found.append(run(broker.bootstrap_servers, directory)))
    worker.start()
    _await(directory / "ready", worker)
    host_port = broker.bootstrap_servers
    broker.stop()
    again = Broker(data=str(data), settings={**SETTINGS, "listeners": f"PLAINTEXT://{host_port}"})
    again.start()
    (directory / "restarted").touch()
    _await(directory / "again", worker)
    again.stop()
    (directory / "gone").touch()
    worker.join(120)
    return found[0]


def while_failing_over(data: Path, run: Callable[[str, Path], Told], directory: Path) -> Told:
    """Three nodes; the leader of the topic is killed and stays away."""
    directory.mkdir()
    data.mkdir()
    found: list[Told] = []
    with Cluster(data, settings=QUICK) as cluster:
        cluster.create_topic("plain")
        worker = threading.Thread(target=lambda: found.append(run(cluster.bootstrap_servers, directory)))
        worker.start()
        _await(directory / "ready", worker)
        cluster.brokers[cluster.leader_of("plain")].kill()
        (directory / "killed").touch()
        worker.join(180)
    return found[0]


def _await(file: Path, worker: threading.Thread) -> None:
    while not file.exists():
        assert worker.is_alive(), "the client ended before it should"
        worker.join(0.05)


@pytest.mark.timeout(600)
def test_the_same_exceptions_as_javas_client(
    java_programs: JavaPrograms, tmp_path: Path, long_form: bool
) -> None:
    with Broker(settings=SETTINGS) as broker:
        make_topics(broker.bootstrap_servers)
        theirs = of_java(java_programs.run("ExceptionsCheck", broker.bootstrap_servers))
        ours = Situations(broker.bootstrap_servers).all()
    if long_form:  # most of it is waiting for brokers that are not there
        theirs |= while_away(
            tmp_path / "java",
            lambda servers, files: of_java(java_programs.run("ExceptionsCheck", servers, str(files))),
            tmp_path / "java-files",
        )
        ours |= while_away(
            tmp_path / "python", lambda servers, files: Situations(servers).away(files), tmp_path / "files"
        )
        theirs |= while_failing_over(
            tmp_path / "java-nodes",
            lambda servers, files: of_java(
                java_programs.run("ExceptionsCheck", servers, str(files), "failover")
            ),
            tmp_path / "java-failover",
        )
        ours |= while_failing_over(
            tmp_path / "nodes",
            lambda servers, files: Situations(servers).failover(files),
            tmp_path / "failover",
        )
    assert ours == theirs
    shown = told_in(DOCUMENT)
    assert {name: shown.get(name) for name in theirs} == table(theirs)
    assert not long_form or shown.keys() == theirs.keys()


def table(found: Told) -> dict[str, str]:
    return {
        name: told.replace("raised ", "").replace("future ", "in the future: ")
        for name, told in found.items()
    }


def told_in(document: Path) -> dict[str, str]:
    text = document.read_text().partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1].strip("`") for row in rows[1:]}
