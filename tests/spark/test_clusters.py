"""The connections of a process: shared, and not without end."""

from __future__ import annotations

import pytest

from penstock.security.client_settings import ClientSettings
from penstock.spark import clusters
from penstock.spark.clusters import cluster_for
from penstock.wire.cluster import Cluster


def test_those_that_were_not_asked_for_of_late_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(clusters, "_clusters", {})
    monkeypatch.setattr(Cluster, "close", lambda cluster: closed.append(cluster.bootstrap_servers))
    first, second = (
        cluster_for(ClientSettings("127.0.0.1:1", "a")),
        cluster_for(ClientSettings("127.0.0.1:2", "a")),
    )
    assert cluster_for(ClientSettings("127.0.0.1:1", "a")) is first
    for port in range(3, clusters.MOST + 2):
        cluster_for(ClientSettings(f"127.0.0.1:{port}", "a"))
    assert closed == ["127.0.0.1:2"]
    assert cluster_for(ClientSettings("127.0.0.1:1", "a")) is first
    assert cluster_for(ClientSettings("127.0.0.1:2", "a")) is not second
