"""MirrorMaker 2's connectors as Connect sees them, and what they start."""

from __future__ import annotations

import time

import pytest

from penstock.connect.api.source import SourceOffsets
from penstock.mirror.flow import COPY, GROUPS, HEARTBEATS
from penstock.mirror.layouts import Heartbeat
from penstock.mirror.sides import Side, Tail
from penstock.platform.mirror_connectors import (
    MirrorCheckpointConnector,
    MirrorHeartbeatConnector,
    MirrorSourceConnector,
    flow_settings,
)
from penstock.security.client_settings import ClientSettings
from penstock.testing import Broker

CONFIG = {
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}


def test_they_have_the_names_of_mirror_maker_and_a_part_of_the_flow_each() -> None:
    parts = {
        connector.NAMES[0].rpartition(".")[2]: connector.PARTS
        for connector in (MirrorSourceConnector, MirrorCheckpointConnector, MirrorHeartbeatConnector)
    }
    assert parts == {
        "MirrorSourceConnector": {COPY},
        "MirrorCheckpointConnector": {GROUPS},
        "MirrorHeartbeatConnector": {HEARTBEATS},
    }


def test_mistakes_are_found_before_it_starts() -> None:
    assert MirrorSourceConnector.check(CONFIG) == []
    wrong = {**CONFIG, "replication.policy.class": "my.Policy"}
    assert [name for name, _ in MirrorSourceConnector.check(wrong)] == ["replication.policy.class"]
    assert flow_settings(CONFIG).enabled
    assert flow_settings(CONFIG).source_client.bootstrap_servers == "a:9092"


@pytest.mark.timeout(120)
def test_a_heartbeat_connector_beats_until_it_is_closed() -> None:
    with Broker() as broker:
        servers = broker.bootstrap_servers
        config = {
            **CONFIG,
            "source.cluster.bootstrap.servers": servers,
            "target.cluster.bootstrap.servers": servers,
            "heartbeats.topic.replication.factor": "1",
        }
        connector = MirrorHeartbeatConnector(config)
        assert connector.task_configs(1) == [config]
        assert not connector.has_news(SourceOffsets())
        side = Side("B", ClientSettings(servers), {"bootstrap.servers": servers})
        deadline, found = time.monotonic() + 60, []
        while not found:
            assert time.monotonic() < deadline
            found = [Heartbeat.read(*each) for each in Tail(side, "heartbeats").poll()]
        connector.close()
        side.close()

    assert found[0] is not None
    assert (found[0].source, found[0].target) == ("A", "B")
