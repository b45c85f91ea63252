"""`Admin`: Java's `Admin` in snake_case. Each call returns futures under the names of Java's results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from penstock.client.api.admin.access import Access
from penstock.client.api.admin.cluster import ClusterCalls
from penstock.client.api.admin.configs import Configs
from penstock.client.api.admin.replicas import Replicas
from penstock.client.api.admin.share_groups import ShareGroups
from penstock.client.api.admin.streams_groups import StreamsGroups
from penstock.client.api.admin.topics import Topics
from penstock.client.api.admin.transactions import Transactions
from penstock.client.api.telemetry import WithoutTelemetry


class Admin(
    Topics,
    Configs,
    ShareGroups,
    StreamsGroups,
    Access,
    Replicas,
    Transactions,
    ClusterCalls,
    WithoutTelemetry,
):
    """`Admin({"bootstrap.servers": …})`; a context manager that closes it. Safe for many threads."""

    @classmethod
    def create(cls, settings: Mapping[str, Any]) -> Self:
        """Java's way to make one."""
        return cls(settings)
