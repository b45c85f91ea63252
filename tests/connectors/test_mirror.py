"""MirrorMaker 2's connectors by their class names in Connect's REST API."""

from __future__ import annotations

import pytest

from penstock.testing.broker import Broker
from tests.connectors.worker import Worker, eventually
from tests.mirroring.rig import Client

SOURCE, CHECKPOINT, HEARTBEAT = (
    f"org.apache.kafka.connect.mirror.Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat")
)


@pytest.mark.timeout(900)
def test_the_connectors_of_mirror_maker_copy_translate_and_beat(worker: Worker, broker: Broker) -> None:
    """From the cluster to itself: names tell the sides apart."""
    _, plugins = worker.call("GET", "/connector-plugins")
    assert {SOURCE, CHECKPOINT, HEARTBEAT} <= {each["class"] for each in plugins}
    client = Client(broker.bootstrap_servers)
    client.create("to-mirror", 2)
    client.produce("to-mirror", [b"%d" % number for number in range(100)])
    client.consume("mirrored", ["to-mirror"], 100)
    config = {
        "source.cluster.alias": "west",
        "target.cluster.alias": "east",
        "source.cluster.bootstrap.servers": broker.bootstrap_servers,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
        "topics": "to-mirror",
        "groups": "mirrored",
        "replication.factor": "1",
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "heartbeats.replication.enabled": "false",
    }
    classes = {"copies": SOURCE, "translates": CHECKPOINT, "beats": HEARTBEAT}
    for name, its_class in classes.items():
        worker.create(name, {**config, "connector.class": its_class})
    for name in classes:
        worker.await_state(name, "RUNNING")

    eventually(lambda: "heartbeats" in client.topics(), "heartbeats beat")
    copied = "west.to-mirror"
    eventually(lambda: client.topics().get(copied) == 2 and len(client.read(copied, 1)) == 50, "a copy")
    assert client.read(copied, 0) == client.read("to-mirror", 0)
    checkpoints = "west.checkpoints.internal"
    eventually(lambda: checkpoints in client.topics() and len(client.read(checkpoints)) >= 2, "checkpoints")

    wrong = {**config, "connector.class": SOURCE, "topics": "("}
    status, body = worker.call("PUT", "/connectors/wrong/config", wrong)
    assert status == 400, body
    assert "topics is not a list of regular expressions" in body["message"]
    for name in classes:
        assert worker.call("DELETE", f"/connectors/{name}")[0] == 204
