"""What all partitions of a broker share: the broker's id, what it knows of the other brokers, and how it asks
for a change of an ISR. `server.node` puts it together; a partition alone needs none of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from penstock.clock import Clock, SystemClock
from penstock.replication.throttle import ReplicationThrottle

if TYPE_CHECKING:
    from penstock.replication.partition import Partition

LAG_SECONDS = 30.0
Produced = Callable[[str, int, int, int], None]


class Assigned(Protocol):
    """The replicas and the leader of a partition, as the metadata has them; the controller's value is one."""

    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def leader(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def partition_epoch(self) -> int: ...


def _nobody(broker_id: int, broker_epoch: int) -> bool:
    return False


def _tell_nobody(partition: Partition) -> None:
    """A partition with one replica has no ISR to change."""


def _count_nothing(topic: str, requests: int, size_bytes: int, records: int) -> None:
    """A partition alone counts for nobody."""


@dataclass(slots=True)
class Surroundings:
    """Handed to every partition of a broker."""

    node_id: int
    clock: Clock = field(default_factory=SystemClock)
    lag_seconds: Callable[[], float] = lambda: LAG_SECONDS
    """`replica.lag.time.max.ms`: a follower that has not caught up for so long leaves the ISR."""
    may_join: Callable[[int, int], bool] = _nobody
    """Whether this life (broker epoch) of a broker may be in an ISR: it is registered and not fenced
    (KIP-903)."""
    isr_wanted: Callable[[Partition], None] = _tell_nobody
    """Called, without a lock, when a leader wants another ISR, to ask the controller for it."""
    sending: ReplicationThrottle | None = None
    """What leaders send to throttled replicas."""
    taking: ReplicationThrottle | None = None
    """What throttled replicas take here."""
    produced: Produced = _count_nothing
    """Called with a partition's lock held: so many plain requests for this topic were served natively, with
    so many bytes and records."""
