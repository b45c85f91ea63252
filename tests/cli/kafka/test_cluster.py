"""`kafka-cluster` beside Kafka's own."""

from __future__ import annotations

import pytest

from penstock.cli.kafka.cluster import cluster
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "org.apache.kafka.tools.ClusterTool"
TO = "--bootstrap-server SERVERS"


@pytest.mark.parametrize(
    "line",
    [
        f"cluster-id {TO}",
        f"list-endpoints {TO}",
        f"list-endpoints {TO} --include-fenced-brokers",
        f"unregister {TO} --id 9",
    ],
)
def test_a_cluster_is_described_as_kafka_does(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(cluster, KAFKAS, line)
    assert (ours.code, ours.out, ours.complaint) == (kafkas.code, kafkas.out, kafkas.complaint)


@pytest.mark.parametrize("line", ["", "wrong", "cluster-id", f"unregister {TO}"])
def test_a_mistake_ends_with_1_and_the_usage(side: SideBySide, line: str) -> None:
    """Kafka's own cannot stand beside it here: its library for arguments ends the whole JVM."""
    said = side.ours(cluster, *line.split())
    assert (said.code, said.out) == (1, "")
    assert said.complaint.startswith("usage: kafka-cluster")
