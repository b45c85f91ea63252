"""What a node of the quorum is at a moment, and what it knows only as such. Times are milliseconds of its
clock.

Only `penstock.raft.transitions`, `elections` and `leading` make these; a node has one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.raft.messages import FetchRequest, OffsetAndEpoch


@dataclass(slots=True)
class Asked:
    """A request that waits for its answer. Any other answer is late or a copy, and is dropped."""

    correlation_id: int
    deadline: float
    """When it counts as lost and another may be sent."""


@dataclass(slots=True)
class Unattached:
    """Knows no leader of this epoch. May have voted in it."""

    election_deadline: float
    """When a voter stands for election; an observer asks on, for ever."""
    asked: Asked | None = None
    """A fetch to some voter, whose answer will name the leader."""


@dataclass(slots=True)
class Prospective:
    """Asks whether it would be elected, in its present epoch (KIP-996). This changes nothing elsewhere."""

    election_deadline: float
    granted: set[int]
    rejected: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Candidate:
    """Has begun an epoch and voted for itself in it; asks the others."""

    election_deadline: float
    granted: set[int]
    rejected: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Resigned:
    """Led this epoch and has stopped; never leads it again, because it has voted and epochs begin with
    elections."""

    election_deadline: float


@dataclass(slots=True)
class FetchingSnapshot:
    """A snapshot that is being fetched: everything below `position` is here."""

    snapshot: OffsetAndEpoch
    position: int = 0


@dataclass(slots=True)
class Follower:
    """Fetches from the leader of this epoch."""

    leader_id: int
    """Never changes: an epoch has one leader."""
    fetch_deadline: float
    """Without an answer until then the leader counts as gone."""
    has_fetched: bool = False
    """Whether this leader has answered a fetch: then no other node gets a pre-vote from here."""
    asked: Asked | None = None
    retry_at: float = 0.0
    """Not before then another fetch is sent; after an error only."""
    snapshot: FetchingSnapshot | None = None


@dataclass(slots=True)
class Progress:
    """What the leader knows of a replica."""

    end_offset: int = 0
    """Everything below is durable there, and equal to the leader's log. Never goes back within an epoch."""
    fetched_at: float = 0.0
    caught_up_at: float = 0.0
    """When it last had everything; for DescribeQuorum."""


@dataclass(slots=True)
class WaitingFetch:
    """A fetch that is held until there is something new to answer."""

    request: FetchRequest
    deadline: float


@dataclass(slots=True)
class Leader:
    """Leads this epoch: alone appends, and alone moves the high watermark."""

    epoch_start_offset: int
    """Where its own epoch begins in the log. Nothing is committed before something of this epoch is."""
    granted: frozenset[int]
    """The voters that voted for it."""
    elected_by: frozenset[int]
    """All voters at its election."""
    progress: dict[int, Progress]
    """Of each voter, itself among them (whose `end_offset` is what is durable here), and of observers that
    fetch."""
    check_deadline: float
    """A majority must have fetched by then, or it resigns: it may be cut off and not know (KIP-835)."""
    begin_at: float
    """When BeginQuorumEpoch goes out again to voters that do not fetch."""
    waiting: dict[int, WaitingFetch] = field(default_factory=dict)
    """At most one per replica: a newer fetch takes the place of an older one."""


Role: TypeAlias = Unattached | Prospective | Candidate | Leader | Follower | Resigned
