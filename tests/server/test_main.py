"""When a node begins to answer."""

from __future__ import annotations

import gc
import socket
import threading
import traceback
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import NewTopic as TopicToCreate

from penstock.controller.topics import NewTopic
from penstock.handlers.topic_creation import create_topic
from penstock.protocol.apis import Api
from penstock.server.main import RunningBroker
from penstock.settings import BrokerSettings
from penstock.storage.errors import LogDirFailure
from penstock.testing import Broker
from tests.handlers.one_node import request_frame
from tests.server.test_node import node_on
from tests.server.wire_bytes import framed

PATIENCE_SECONDS = 1.0


def test_a_broker_that_does_not_know_its_cluster_yet_answers_no_client(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the controller, which says nothing
        settings = BrokerSettings.from_texts(
            {
                "process.roles": "broker",
                "node.id": "1",
                "cluster.id": "Pe-nStoCk0000000000aaA",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": f"7@127.0.0.1:{silent.getsockname()[1]}",
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": str(tmp_path / "data"),
            }
        )
        broker = RunningBroker(settings)
        broker.start()
        try:
            with socket.create_connection(broker.addresses["PLAINTEXT"], PATIENCE_SECONDS) as client:
                client.sendall(framed(request_frame(Api.API_VERSIONS, 0, b"")))
                with pytest.raises(TimeoutError):
                    client.recv(4)
        finally:
            broker.close()


def test_a_closed_broker_has_no_file_of_its_logs_open(tmp_path: Path) -> None:
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "data")}
    broker = RunningBroker(BrokerSettings.from_texts(settings))
    broker.start()
    assert open_below(tmp_path)
    broker.close()
    assert not open_below(tmp_path)


def test_a_deleted_topic_leaves_no_file_open(tmp_path: Path) -> None:
    """Also while something still knows its logs, and without waiting for the collector."""
    with Broker(str(tmp_path)) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        gc.disable()
        try:
            for number in range(5):
                admin.create_topics([TopicToCreate(f"t{number}", 4)])[f"t{number}"].result(10)
                for partition in range(4):
                    producer.produce(f"t{number}", b"value", partition=partition)
                assert producer.flush(10) == 0
                admin.delete_topics([f"t{number}"])[f"t{number}"].result(10)
            assert [path for path in open_below(tmp_path) if "-delete/" in str(path)] == []
        finally:
            gc.enable()


def test_a_lone_broker_ends_when_its_only_log_directory_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "data")}
    ended = threading.Event()
    broker = RunningBroker(BrokerSettings.from_texts(settings), ended.set)
    broker.start()
    try:
        (directory,) = broker._node.broker.logs.directories
        directory.fail(OSError("the disk is gone"))
        assert ended.wait(PATIENCE_SECONDS * 10)
    finally:
        broker.close()
    assert isinstance(broker.failure, LogDirFailure)
    assert any("this node ends, because all log directories have failed" in line for line in caplog.messages)
    assert not any("served on" in line for line in caplog.messages)


def test_a_failure_that_is_raised_again_and_again_does_not_grow(tmp_path: Path) -> None:
    node = node_on(tmp_path)
    create_topic(node.broker, NewTopic("t", 1, 1))
    log = node.broker.partitions.get("t", 0).log
    log.directory.fail(OSError("the disk is gone"))
    lengths = set()
    for _ in range(5):
        with pytest.raises(LogDirFailure) as raised:
            log._check_writable()
        lengths.add(len(traceback.extract_tb(raised.value.__traceback__)))
    assert len(lengths) == 1


def open_below(folder: Path) -> list[Path]:
    """The files that this process has open there."""
    held = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one of this very listing is gone
            held.append(descriptor.readlink())
    return [path for path in held if path.is_relative_to(folder)]
