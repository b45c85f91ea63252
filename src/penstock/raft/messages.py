"""What members of a quorum say to each other: Kafka's messages, without their bytes.

Every request gets one answer, which carries the request's `correlation_id` back. A network may lose, delay,
repeat and exchange them; each says its epoch, and the core takes nothing for granted. The form on the wire is
the business of `penstock.handlers.quorum.messages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.protocol.errors import ErrorCode


class OffsetAndEpoch(NamedTuple):
    """A place in the log: the epoch of what stands before `offset`. It names a snapshot, too: of everything
    below."""

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """From one node to another."""

    source: int
    destination: int
    correlation_id: int
    """Of the request; an answer has its request's."""
    epoch: int
    """The sender's epoch; in a real vote request the epoch it wants to lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseMessage(Message):
    """What every response says: the leader of the sender's epoch, as far as the sender knows it."""

    leader_id: int | None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest(Message):
    """May I lead? A pre-vote asks whether a real one would be granted; it changes nothing (KIP-996)."""

    log_end: OffsetAndEpoch
    """The end of the candidate's log and the epoch of its last batch."""
    pre_vote: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse(ResponseMessage):
    granted: bool
    pre_vote: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest(Message):
    """I lead this epoch: fetch from me. Only the leader of `epoch` sends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse(ResponseMessage):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest(Message):
    """I led this epoch and have stopped. The first of `successors` should stand for election at once."""

    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochResponse(ResponseMessage):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(Message):
    """Give me what follows. Everything below `fetch_offset` is durable at the sender: this is its
    acknowledgement."""

    fetch_offset: int
    last_fetched_epoch: int
    """The epoch of the sender's last batch, 0 when it has none."""
    high_watermark: int
    """The high watermark that the sender knows. The leader holds a fetch only while it has nothing newer
    (KIP-1166)."""
    max_wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse(ResponseMessage):
    """At most one of `batches`, `diverging` and `snapshot` has something in it."""

    high_watermark: int = 0
    batches: bytes = b""
    diverging: OffsetAndEpoch | None = None
    """The sender's logs differ: the leader's largest epoch up to the asker's, and where it ends."""
    snapshot: OffsetAndEpoch | None = None
    """What was asked for is no longer in the log: fetch this snapshot first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest(Message):
    snapshot: OffsetAndEpoch
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse(ResponseMessage):
    snapshot: OffsetAndEpoch
    size_bytes: int = 0
    """Of the whole snapshot."""
    position: int = 0
    chunk: bytes = b""


Request: TypeAlias = (
    VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest | FetchSnapshotRequest
)
Response: TypeAlias = (
    VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse
)
