"""`penstock connector …` against a worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Producer

from penstock.cli.main import root
from penstock.testing.broker import Broker
from tests.connectors.test_file_stream import SINK, values
from tests.connectors.worker import Worker, eventually
from tests.peers.topic_reader import read_topic

pytestmark = pytest.mark.timeout(300)


def run(worker: Worker, *words: str) -> Result:
    return CliRunner().invoke(root, ["connector", *words, "--connect", worker.url])


def test_a_connector_is_created_watched_paused_and_deleted(worker: Worker, files: Path) -> None:
    config = {"connector.class": "FileStreamSource", "file": str(files / "not-there.txt"), "topic": "idle"}
    path = files / "idle.json"
    path.write_text(json.dumps({"name": "idle", "config": {**config, "tasks.max": 1}}))
    assert run(worker, "validate", str(path)).exit_code == 0
    assert run(worker, "create", str(path)).output == "idle is a source\n"
    worker.await_state("idle", "RUNNING")
    assert "idle\tsource\tRUNNING\tRUNNING" in run(worker, "list").output
    assert run(worker, "pause", "idle").output == "idle pauses\n"
    worker.await_state("idle", "PAUSED")
    assert run(worker, "resume", "idle").exit_code == 0
    worker.await_state("idle", "RUNNING")
    assert run(worker, "restart", "idle", "--task", "0").exit_code == 0
    assert run(worker, "restart", "idle").exit_code == 0
    assert json.loads(run(worker, "status", "idle", "--json").output)["name"] == "idle"
    assert run(worker, "stop", "idle").exit_code == 0
    assert "reset successfully" in run(worker, "offsets", "idle", "--reset").output
    assert run(worker, "offsets", "idle").output == ""
    assert run(worker, "logs", "idle").exit_code == 0
    assert "FileStreamSinkConnector\tsink" in run(worker, "plugins").output
    assert run(worker, "delete", "idle", "--yes").output == "idle is deleted\n"
    missing = run(worker, "status", "idle")
    assert "No status found for connector idle" in str(missing.exception)


def test_every_mistake_is_printed(worker: Worker, files: Path) -> None:
    path = files / "wrong.properties"
    path.write_text("name=x\nconnector.class=FileStreamSink\ntasks.max=none\nerrors.tolerance=some\n")
    found = run(worker, "validate", str(path))
    assert found.exit_code == 1
    for setting in ("tasks.max", "errors.tolerance", "topics", "file"):
        assert f"{setting}\t" in found.output


def test_dead_letters_have_kafkas_headers_a_log_and_are_sent_again_once(
    worker: Worker, broker: Broker, files: Path
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for text in ("1", "two", "3"):
        producer.produce("numbers-in", text.encode(), b"key", headers=[("mine", b"kept")])
    producer.flush()
    config = {
        "connector.class": SINK, "topics": "numbers-in", "file": str(files / "numbers.out"),
        "transforms": "c", "transforms.c.type": "Cast$Value", "transforms.c.spec": "int32",
        "errors.tolerance": "all", "errors.log.enable": "true", "errors.log.include.messages": "true",
        "errors.deadletterqueue.topic.name": "numbers-dead",
        "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    worker.create("numbers-out", config)
    out = files / "numbers.out"
    eventually(lambda: out.exists() and out.read_text() == "1\n3\n", "good records", 180)
    [letter] = read_topic(broker.bootstrap_servers, "numbers-dead")
    headers = {key: value.decode() for key, value in letter.headers() if key != "mine"}
    assert (letter.key(), letter.value(), dict(letter.headers())["mine"]) == (b"key", b"two", b"kept")
    prefix = "__connect.errors."
    assert headers[f"{prefix}exception.class.name"] == "org.apache.kafka.connect.errors.DataException"
    known = ("topic", "partition", "offset", "task.id", "stage")
    assert {name: headers[prefix + name] for name in known} == {
        "topic": "numbers-in", "partition": "0", "offset": "1", "task.id": "0", "stage": "TRANSFORMATION",
    }  # fmt: skip
    assert headers[f"{prefix}connector.name"] == "numbers-out"
    eventually(lambda: "TRANSFORMATION" in run(worker, "logs", "numbers-out").output, "the log of the task")
    assert run(worker, "redrive", "numbers-out").output == "1 dead letters were sent again\n"
    assert values(broker, "numbers-in") == ["1", "two", "3", "two"]
    [*_, again] = read_topic(broker.bootstrap_servers, "numbers-in")
    assert again.headers() == [("mine", b"kept")]
    eventually(lambda: len(values(broker, "numbers-dead")) == 2, "it fails again", 60)
    worker.call("DELETE", "/connectors/numbers-out")
