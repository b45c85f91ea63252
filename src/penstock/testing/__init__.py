"""For tests, ours and our users': a broker inside the process, a cluster of processes, a pytest fixture,
and the parts of the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.testing.broker import Broker
    from penstock.testing.cluster import Cluster

__all__ = ["Broker", "Cluster"]


def __getattr__(name: str) -> Any:
    """What there is, is imported when it is asked for: pytest loads this package in every run, with or
    without a broker."""
    if name == "Broker":
        from penstock.testing.broker import Broker

        return Broker
    if name == "Cluster":
        from penstock.testing.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
