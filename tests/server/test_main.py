"""When a node begins to answer."""

from __future__ import annotations

import socket
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
