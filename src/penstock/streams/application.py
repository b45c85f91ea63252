"""`Application`: a topology that runs. Its engine is Spark, and the host for it is not part of this
release.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.streams.topology import Topology


class NotRunnable(RuntimeError):
    """An application that cannot be started, and why."""


@dataclass(frozen=True)
class Application:
    """A topology with its id: the id names the group, the internal topics and the changelogs."""

    topology: Topology
    application_id: str
    bootstrap_servers: str
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def internal_topics(self) -> list[str]:
        """Repartition and changelog topics by their names in the cluster."""
        plan = self.topology.plan
        repartition = [plan.topic_name(topic.name, self.application_id) for topic in plan.internal_topics]
        logged = [store for store in plan.used_stores if store.logging]
        return sorted(
            repartition + [plan.changelog_name(store.name, self.application_id) for store in logged]
        )

    def start(self) -> None:
        """Refused: topologies run in the test driver only, until the host on Spark is there."""
        raise NotRunnable(
            f"{self.application_id} cannot be started: topologies run in TopologyTestDriver only, "
            "because the host that runs them on Spark is not part of this release (docs/streams.md)"
        )
