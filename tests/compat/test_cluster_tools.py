"""Kafka's own command-line tools against a cluster of three."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.testing.cluster import Cluster
from tests.peers.apache_kafka import Unavailable, tool_jars

TOOLS = "org.apache.kafka.tools."
JAVA = ("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        tool_jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def tool(cluster: Cluster, name: str, *arguments: str) -> str:
    """What a tool prints; it must succeed."""
    command = [*JAVA, "-cp", f"{tool_jars()}/*", TOOLS + name]
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    done = subprocess.run(
        [*command, *servers, *arguments], capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_kafka_topics_places_replicas_by_itself_and_by_hand(cluster: Cluster) -> None:
    create = ("--create", "--topic")
    tool(cluster, "TopicCommand", *create, "spread", "--partitions", "3", "--replication-factor", "3")
    tool(cluster, "TopicCommand", *create, "placed", "--replica-assignment", "3:1,2:3")
    cluster.wait_in_sync("spread")
    told = tool(cluster, "TopicCommand", "--describe")
    spread = re.findall(r"Topic: spread\s+Partition: \d\s+Leader: (\d)", told)
    assert sorted(spread) == ["1", "2", "3"]
    assert re.search(r"Topic: placed\s+Partition: 0\s+Leader: 3\s+Replicas: 3,1\s+Isr: 3,1", told)
    assert re.search(r"Topic: placed\s+Partition: 1\s+Leader: 2\s+Replicas: 2,3\s+Isr: 2,3", told)


def test_kafka_metadata_quorum_tells_of_three_voters(cluster: Cluster) -> None:
    told = tool(cluster, "MetadataQuorumCommand", "describe", "--replication")
    assert len(re.findall(r"^[123]\s.*(?:Leader|Follower)", told, re.MULTILINE)) == 3


def test_kafka_reassign_partitions_moves_replicas_and_kafka_leader_election_their_leaders(
    cluster: Cluster, tmp_path: Path
) -> None:
    tool(cluster, "TopicCommand", "--create", "--topic", "moved", "--replica-assignment", "1:2,2:3")
    wanted = [{"topic": "moved", "partition": 0, "replicas": [3, 2]}]
    wanted.append({"topic": "moved", "partition": 1, "replicas": [1, 2, 3]})
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))
    reassign = ("reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(plan))
    tool(cluster, *reassign, "--execute", "--throttle", "50000000")
    cluster.wait_until(
        lambda: [set(view.isr) for view in cluster.partitions("moved").values()] == [{2, 3}, {1, 2, 3}],
        "both partitions to arrive",
    )
    assert "is still in progress" not in tool(cluster, *reassign, "--verify")
    tool(cluster, "LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
    cluster.wait_until(
        lambda: [view.leader for view in cluster.partitions("moved").values()] == [3, 1],
        "the preferred leaders",
    )


def test_kafka_features_and_kafka_cluster_tell_and_change(cluster: Cluster) -> None:
    tool(cluster, "FeatureCommand", "downgrade", "--feature", "transaction.version=1")
    tool(cluster, "FeatureCommand", "upgrade", "--feature", "transaction.version=2")
    told = tool(cluster, "FeatureCommand", "describe")
    assert re.search(r"transaction.version.*FinalizedVersionLevel: 2", told)
