"""When a node begins to answer."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.protocol.apis import Api
from penstock.server.main import RunningBroker
from penstock.settings import BrokerSettings
from tests.handlers.one_node import request_frame
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


def open_below(folder: Path) -> list[Path]:
    """The files that this process has open there."""
    held = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one of this very listing is gone
            held.append(descriptor.readlink())
    return [path for path in held if path.is_relative_to(folder)]
