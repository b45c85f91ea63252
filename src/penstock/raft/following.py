"""What a follower and an observer do: find the leader, fetch from it, cut away what it does not have."""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode
from penstock.raft import answers
from penstock.raft.elections import become_prospective
from penstock.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    OffsetAndEpoch,
)
from penstock.raft.roles import Asked, FetchingSnapshot, Follower, Unattached
from penstock.raft.snapshots import ask_for_chunk
from penstock.raft.state import State
from penstock.raft.transitions import become_follower, become_unattached, observe, take
from penstock.raft.voter_replay import replay_voters


def tick_follower(state: State, follower: Follower) -> None:
    """Keep one fetch under way. When the leader is silent for too long, a voter stands for election."""
    now = state.now_ms()
    if now >= follower.fetch_deadline:
        if state.may_stand:
            become_prospective(state)
        else:
            become_unattached(state, state.epoch)
        return
    if follower.asked is not None and now >= follower.asked.deadline:
        follower.asked = None
    if follower.asked is None and now >= follower.retry_at:
        fetch(state, follower)


def fetch(state: State, follower: Follower) -> None:
    """Ask the leader for what follows, or for the next piece of a snapshot."""
    if follower.snapshot is not None:
        ask_for_chunk(state, follower, follower.snapshot)
    else:
        follower.asked = _ask(state, follower.leader_id, state.timeouts.hold_ms)


def tick_unattached(state: State, role: Unattached) -> None:
    """Ask some voter for the leader: the epoch may have begun before this node started."""
    now = state.now_ms()
    if state.others and (role.asked is None or now >= role.asked.deadline):
        role.asked = _ask(state, state.random.choice(state.others), max_wait_ms=0)
        role.asked.deadline = now + min(
            state.timeouts.request_timeout_ms, state.timeouts.election_timeout_ms / 2
        )


def on_fetch_response(state: State, response: FetchResponse) -> None:
    asked = state.role.asked if isinstance(state.role, Follower | Unattached) else None
    expected = asked is not None and asked.correlation_id == response.correlation_id
    observe(state, response)
    follower = state.role
    if not expected or not isinstance(follower, Follower) or response.source != follower.leader_id:
        return
    if follower.asked is not asked or response.epoch != state.epoch:
        return
    follower.asked = None
    if response.error is not ErrorCode.NONE:
        follower.retry_at = state.now_ms() + state.timeouts.retry_backoff_ms
        return
    heard_from_leader(state, follower)
    _take_in(state, follower, response)
    fetch(state, follower)


def heard_from_leader(state: State, follower: Follower) -> None:
    follower.has_fetched = True
    follower.fetch_deadline = state.now_ms() + state.timeouts.fetch_timeout_ms


def _take_in(state: State, follower: Follower, response: FetchResponse) -> None:
    if response.snapshot is not None:
        follower.snapshot = FetchingSnapshot(response.snapshot)
    elif response.diverging is not None:
        offset = _truncation_point(state, response.diverging)
        state.log.truncate_to(offset)
        state.voter_history.truncate_to(offset)
    else:
        if response.batches:
            end_offset = state.log.append_fetched(response.batches)
            state.unflushed = True
            replay_voters(state.voter_history, response.batches, end_offset)
        known = min(response.high_watermark, state.log.end_offset)
        state.high_watermark = max(state.high_watermark, known)


def _truncation_point(state: State, diverging: OffsetAndEpoch) -> int:
    """Up to where both logs can be equal: the end, here or there, of the last epoch that both may have
    (KIP-101, KIP-279). It may take several rounds."""
    own = state.log.end_of_epoch(diverging.epoch)
    offset = min(own.offset, diverging.offset) if own.epoch == diverging.epoch else own.offset
    assert offset >= state.high_watermark, (
        f"would cut to {offset} what is committed up to {state.high_watermark}"
    )
    return offset


def on_begin_quorum_epoch(state: State, request: BeginQuorumEpochRequest) -> None:
    """A leader was elected. It may be a voter that this node's log does not name yet."""
    error = ErrorCode.NONE
    if request.epoch < state.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    else:
        become_follower(state, request.epoch, request.source)
    state.outbox.append(BeginQuorumEpochResponse(**answers.to(request, state, error)))


def on_end_quorum_epoch(state: State, request: EndQuorumEpochRequest) -> None:
    """The leader has stopped: no need to wait until it is missed. The first successor stands at once, each
    next one a backoff later."""
    error = ErrorCode.NONE
    if request.epoch < state.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    elif state.leader_id in (None, request.source):
        become_unattached(state, request.epoch)
        if state.may_stand:
            _stand_in_turn(state, request.successors)
    state.outbox.append(EndQuorumEpochResponse(**answers.to(request, state, error)))


def _stand_in_turn(state: State, successors: tuple[int, ...]) -> None:
    turn = successors.index(state.node_id) if state.node_id in successors else len(successors)
    if turn == 0:
        become_prospective(state)
        return
    backoff = min(state.timeouts.retry_backoff_ms * 2**turn, state.timeouts.election_backoff_max_ms)
    take(state, Unattached(state.now_ms() + state.timeouts.election_timeout_ms / 2 + backoff))


def _ask(state: State, destination: int, max_wait_ms: int) -> Asked:
    request = FetchRequest(
        source=state.node_id,
        destination=destination,
        correlation_id=state.next_correlation_id(),
        epoch=state.epoch,
        fetch_offset=state.log.end_offset,
        last_fetched_epoch=state.log.last_epoch,
        high_watermark=state.high_watermark,
        max_wait_ms=max_wait_ms,
    )
    state.outbox.append(request)
    return Asked(request.correlation_id, state.now_ms() + state.timeouts.request_timeout_ms)
