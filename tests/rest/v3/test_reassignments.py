"""Reassignments through the proxy: of three brokers one is away, so that a move goes on for ever."""

from __future__ import annotations

from pathlib import Path

from penstock.testing.cluster import Cluster
from tests.rest.proxies import running_proxy

QUICK = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "2500"}


def test_a_move_that_waits_for_a_broker_is_listed(tmp_path: Path) -> None:
    with Cluster(tmp_path, settings=QUICK) as cluster:
        cluster.create_topic("moved", 2, copies=1)
        holder = cluster.leader_of("moved", 1)
        away = next(
            number for number in cluster.brokers if number not in (holder, cluster.active_controller())
        )
        cluster.brokers[away].kill()
        stays = next(number for number in cluster.brokers if number != away)
        cluster.reassign("moved", {1: [stays, away]})
        with running_proxy(cluster.bootstrap_servers) as proxy:
            base = f"{proxy.cluster()}/topics"
            everything = proxy.client.get(f"{base}/-/partitions/-/reassignment").json()
            assert everything["kind"] == "KafkaReassignmentList"
            (found,) = everything["data"]
            assert (found["topic_name"], found["partition_id"]) == ("moved", 1)
            assert away in found["adding_replicas"]
            assert proxy.client.get(f"{base}/moved/partitions/-/reassignment").json()["data"] == [found]
            assert proxy.client.get(f"{base}/moved/partitions/1/reassignment").json() == found
            assert proxy.client.get(found["metadata"]["self"]).json() == found
            assert proxy.client.get(f"{base}/moved/partitions/0/reassignment").status_code == 404
            assert proxy.client.get(f"{base}/none/partitions/-/reassignment").status_code == 404
