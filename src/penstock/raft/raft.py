"""The door to the core: `step` for a message, `tick` for time that passes, `propose` for what the leader
wants committed, and `ready` for what has to happen outside.

A driver's turn is: any number of steps, ticks and proposals, then one `ready`, whose `election` it makes
durable and whose messages it sends then. `ready` itself flushes the log, once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from penstock.clock import Clock
from penstock.raft import elections, following, leading, snapshots
from penstock.raft.log import RaftLog
from penstock.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    OffsetAndEpoch,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from penstock.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from penstock.raft.state import Election, State
from penstock.raft.timeouts import Timeouts
from penstock.raft.voter_replay import load_voters
from penstock.raft.voters import VoterSet


class NotLeader(Exception):
    """Only the leader appends. `leader_id` names it, as far as this node knows."""

    def __init__(self, leader_id: int | None) -> None:
        super().__init__(f"the leader is {'unknown' if leader_id is None else leader_id}")
        self.leader_id = leader_id


class VoterChangeRefused(Exception):
    """The voters cannot be changed now, or not like this."""


class Ready(NamedTuple):
    """What the driver has to do, in this order."""

    election: Election | None
    """To be made durable, when it has changed."""
    installed: OffsetAndEpoch | None
    """A snapshot that took the place of the log: state is loaded from it before anything is replayed."""
    messages: list[Request | Response]
    """To be sent, after all that."""


_STEPS: Final[dict[type, Callable[[State, Any], None]]] = {
    VoteRequest: elections.on_vote_request,
    VoteResponse: elections.on_vote_response,
    BeginQuorumEpochRequest: following.on_begin_quorum_epoch,
    BeginQuorumEpochResponse: leading.on_epoch_response,
    EndQuorumEpochRequest: following.on_end_quorum_epoch,
    EndQuorumEpochResponse: leading.on_epoch_response,
    FetchRequest: leading.on_fetch_request,
    FetchResponse: following.on_fetch_response,
    FetchSnapshotRequest: snapshots.on_fetch_snapshot_request,
    FetchSnapshotResponse: snapshots.on_fetch_snapshot_response,
}


class Raft:
    """One node of a quorum. Not thread-safe: the caller is its only thread, or holds its lock."""

    def __init__(
        self,
        node_id: int,
        voters: frozenset[int],
        log: RaftLog,
        clock: Clock,
        random: Random,
        *,
        election: Election | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """`voters` are those of the settings, which count until the log names others. `election` is what the
        last life made durable; None on a new node, or one from before there was a quorum."""
        assert voters, "a quorum has voters"
        self._persisted = election or Election(log.last_epoch, None, None)
        self._state = State(
            node_id=node_id,
            voter_history=load_voters(VoterSet.of_ids(voters), log),
            log=log,
            clock=clock,
            random=random,
            timeouts=timeouts or Timeouts(),
            epoch=max(self._persisted.epoch, log.last_epoch),
            voted_for=self._persisted.voted_for if self._persisted.epoch >= log.last_epoch else None,
            role=Unattached(0.0),
            last_correlation_id=random.getrandbits(62),
        )
        self._begin(self._persisted.leader_id)

    def _begin(self, leader_id: int | None) -> None:
        """Follow the leader that the last life followed. A single voter elects itself at once: it has nobody
        to ask."""
        state = self._state
        state.role = Unattached(state.election_deadline())
        if state.log.latest_snapshot is not None:
            state.high_watermark = min(state.log.latest_snapshot.offset, state.log.end_offset)
        if state.voters == {state.node_id}:
            elections.become_prospective(state)
        elif leader_id is not None and leader_id != state.node_id and state.epoch == self._persisted.epoch:
            state.role = Follower(leader_id, state.now_ms() + state.timeouts.fetch_timeout_ms)

    # What is known

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def leader_id(self) -> int | None:
        return self._state.leader_id

    @property
    def is_leader(self) -> bool:
        return isinstance(self._state.role, Leader)

    @property
    def role(self) -> Role:
        return self._state.role

    @property
    def high_watermark(self) -> int:
        """Records below are committed, and will never change."""
        return self._state.high_watermark

    @property
    def state(self) -> State:
        """Everything, to be looked at."""
        return self._state

    def check_invariants(self) -> None:
        self._state.check_invariants()

    # What happens

    def step(self, message: Request | Response) -> None:
        """A message has arrived."""
        assert message.destination == self._state.node_id, f"for node {message.destination}"
        _STEPS[type(message)](self._state, message)

    def tick(self) -> None:
        """Time has passed. It may be called at any time; `next_deadline_ms` says when it must be."""
        state = self._state
        match state.role:
            case Unattached() as role:
                elections.tick_waiting_for_election(state, role)
            case Resigned() as role:
                elections.tick_waiting_for_election(state, role)
            case Prospective() | Candidate() as role:
                elections.tick_standing(state, role)
            case Leader() as role:
                leading.tick_leader(state, role)
            case Follower() as role:
                following.tick_follower(state, role)
        if isinstance(state.role, Unattached):
            following.tick_unattached(state, state.role)
        elif isinstance(state.role, Follower) and state.role.asked is None:
            following.tick_follower(state, state.role)

    def propose(self, batches: bytes) -> int:
        """Append as leader. What was appended is committed when the high watermark reaches the offset that
        this returns, while the epoch is still the same; NotLeader when this node cannot."""
        state = self._state
        if not isinstance(state.role, Leader):
            raise NotLeader(state.leader_id)
        return state.append(batches)

    def change_voters(self, voters: VoterSet) -> int:
        """Let one voter join or leave (KIP-853). The change counts from now on, and is committed when the
        high watermark reaches the offset that this returns.

        NotLeader when this node does not lead; VoterChangeRefused while it may not be changed: two majorities
        that share no voter would be possible.
        """
        state, role = self._state, self._state.role
        if not isinstance(role, Leader):
            raise NotLeader(state.leader_id)
        if not voters.voters:
            raise VoterChangeRefused("a quorum has voters")
        if len(voters.ids ^ state.voters) > 1:
            raise VoterChangeRefused("one voter joins or leaves at a time")
        if state.high_watermark <= role.epoch_start_offset:
            raise VoterChangeRefused("nothing of this epoch is committed yet")
        if state.voter_history.latest_offset >= state.high_watermark:
            raise VoterChangeRefused("the change before is not committed yet")
        return leading.take_voters(state, role, voters)

    def resign(self) -> None:
        """Give leadership away, before a clean stop. Nothing happens when there is none, or nobody to give it
        to."""
        if self.is_leader and self._state.majority > 1:
            leading.resign(self._state)

    def ready(self) -> Ready:
        """Make the log durable and return what has to happen now. Its messages may leave when `election` is
        durable."""
        state = self._state
        if state.unflushed:
            state.log.flush()
            state.unflushed = False
        leading.flushed(state)
        leading.leave_if_removed(state)
        leading.answer_waiting(state)
        election = None if state.election == self._persisted else state.election
        self._persisted = state.election
        messages, state.outbox = state.outbox, []
        installed, state.installed = state.installed, None
        return Ready(election, installed, messages)

    def next_deadline_ms(self) -> float:
        """When `tick` is due, on the clock's monotonic milliseconds."""
        match self._state.role:
            case Unattached(election_deadline=deadline, asked=asked):
                return min(deadline, asked.deadline if asked else deadline)
            case Prospective() | Candidate() | Resigned() as role:
                return role.election_deadline
            case Leader() as leader:
                waits = [waiting.deadline for waiting in leader.waiting.values()]
                return min([leader.check_deadline, leader.begin_at, *waits])
            case Follower() as follower:
                asked_until = follower.asked.deadline if follower.asked else follower.retry_at
                return min(follower.fetch_deadline, asked_until)
