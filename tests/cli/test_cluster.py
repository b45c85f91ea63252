"""`penstock cluster …` against a broker, and what it makes of partitions that lack something."""

from __future__ import annotations

import json

from penstock.cli.cluster import health_of
from penstock.client.metadata import PartitionInfo, TopicInfo
from tests.cli.commands import CommandLine


def test_a_cluster_is_described(cli: CommandLine) -> None:
    cli("topic", "create", "t", "--partitions", "3")
    said = json.loads(cli("cluster", "describe", "--json").out)
    assert (said["topics"], said["partitions"], said["controller"]) == (1, 3, 1)
    assert said["brokers"] == [{"id": 1, "address": cli.bootstrap_servers, "leads": 3, "holds": 3}]
    assert said["leaderless"] == said["under_replicated"] == []
    assert cli("cluster", "describe").out.splitlines()[1:3] == [
        "Broker\tAddress\tLeads\tHolds",
        f"1\t{cli.bootstrap_servers}\t3\t3",
    ]


def test_partitions_without_a_leader_or_a_replica_are_named() -> None:
    whole = PartitionInfo(0, 1, (1, 2), (2, 1))
    short = PartitionInfo(1, 2, (1, 2), (2,))
    lost = PartitionInfo(2, None, (1, 2), ())
    health = health_of([TopicInfo("t", (whole, short, lost))])
    assert health.leaderless == ["t-2"]
    assert health.under_replicated == ["t-1", "t-2"]
    assert (health.leading, health.holding) == ({1: 1, 2: 1}, {1: 3, 2: 3})
