"""Kafka's own command-line tools against a cluster of three."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.testing.cluster import Cluster
from tests.peers.java_programs import JavaPrograms

TOOLS = "org.apache.kafka.tools."


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


Tool = Callable[..., str]


@pytest.fixture
def tool(cluster: Cluster, java_programs: JavaPrograms) -> Tool:
    """What a tool prints when it is told of the cluster."""

    def run(name: str, *arguments: str) -> str:
        return java_programs.run(TOOLS + name, "--bootstrap-server", cluster.bootstrap_servers, *arguments)

    return run


def test_kafka_topics_places_replicas_by_itself_and_by_hand(cluster: Cluster, tool: Tool) -> None:
    create = ("--create", "--topic")
    tool("TopicCommand", *create, "spread", "--partitions", "3", "--replication-factor", "3")
    tool("TopicCommand", *create, "placed", "--replica-assignment", "3:1,2:3")
    cluster.wait_in_sync("spread")
    told = tool("TopicCommand", "--describe")
    spread = re.findall(r"Topic: spread\s+Partition: \d\s+Leader: (\d)", told)
    assert sorted(spread) == ["1", "2", "3"]
    assert re.search(r"Topic: placed\s+Partition: 0\s+Leader: 3\s+Replicas: 3,1\s+Isr: 3,1", told)
    assert re.search(r"Topic: placed\s+Partition: 1\s+Leader: 2\s+Replicas: 2,3\s+Isr: 2,3", told)


def test_kafka_metadata_quorum_tells_of_three_voters(tool: Tool) -> None:
    told = tool("MetadataQuorumCommand", "describe", "--replication")
    assert len(re.findall(r"^[123]\s.*(?:Leader|Follower)", told, re.MULTILINE)) == 3


def test_kafka_reassign_partitions_moves_replicas_and_kafka_leader_election_their_leaders(
    cluster: Cluster, tool: Tool, tmp_path: Path
) -> None:
    tool("TopicCommand", "--create", "--topic", "moved", "--replica-assignment", "1:2,2:3")
    wanted = [{"topic": "moved", "partition": 0, "replicas": [3, 2]}]
    wanted.append({"topic": "moved", "partition": 1, "replicas": [1, 2, 3]})
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))
    reassign = ("reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(plan))
    tool(*reassign, "--execute", "--throttle", "50000000")
    cluster.wait_until(
        lambda: [set(view.isr) for view in cluster.partitions("moved").values()] == [{2, 3}, {1, 2, 3}],
        "both partitions to arrive",
    )
    assert "is still in progress" not in tool(*reassign, "--verify")
    tool("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
    cluster.wait_until(
        lambda: [view.leader for view in cluster.partitions("moved").values()] == [3, 1],
        "the preferred leaders",
    )


def test_kafka_features_and_kafka_cluster_tell_and_change(tool: Tool) -> None:
    tool("FeatureCommand", "downgrade", "--feature", "transaction.version=1")
    tool("FeatureCommand", "upgrade", "--feature", "transaction.version=2")
    told = tool("FeatureCommand", "describe")
    assert re.search(r"transaction.version.*FinalizedVersionLevel: 2", told)
