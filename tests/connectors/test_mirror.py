"""MirrorMaker 2's connectors by their class names in Connect's REST API."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from penstock.testing.broker import Broker
from tests.connectors.worker import Worker, eventually

CLASSES = tuple(f"org.apache.kafka.connect.mirror.Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat"))  # fmt: skip # noqa: E501


@pytest.mark.timeout(600)
def test_the_connectors_of_mirror_maker_are_there_and_heartbeats_beat(worker: Worker, broker: Broker) -> None:
    _, plugins = worker.call("GET", "/connector-plugins")
    assert set(CLASSES) <= {each["class"] for each in plugins}
    config = {
        "connector.class": CLASSES[2],
        "source.cluster.alias": "west",
        "target.cluster.alias": "east",
        "source.cluster.bootstrap.servers": broker.bootstrap_servers,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
        "heartbeats.topic.replication.factor": "1",
    }
    worker.create("beats", config)
    worker.await_state("beats", "RUNNING")

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    eventually(lambda: "heartbeats" in admin.list_topics(timeout=10).topics, "heartbeats beat")
    wrong = {**config, "connector.class": CLASSES[0], "topics": "("}
    status, body = worker.call("PUT", "/connectors/wrong/config", wrong)
    assert status == 400, body
    assert "topics is not a list of regular expressions" in body["message"]
    assert worker.call("DELETE", "/connectors/beats")[0] == 204
