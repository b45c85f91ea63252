"""What a leader does: append, answer fetches, move the high watermark, and resign when it cannot."""

from __future__ import annotations

from math import inf

from penstock.protocol.errors import ErrorCode
from penstock.raft import answers
from penstock.raft.answers import refuse_fetch
from penstock.raft.control_records import leader_change, voters_batch
from penstock.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    OffsetAndEpoch,
)
from penstock.raft.roles import Leader, Progress, Resigned, Unattached, WaitingFetch
from penstock.raft.state import State
from penstock.raft.transitions import observe, take
from penstock.raft.voters import VoterSet

MAX_OBSERVERS = 10_000
"""Observers whose progress is remembered; beyond that a new one takes the place of the one not heard of
longest."""


def become_leader(state: State, granted: frozenset[int]) -> None:
    """Begin the epoch's log with a batch of its own, and announce it to the other voters."""
    now = state.now_ms()
    start = state.log.end_offset
    batch = leader_change(state.node_id, state.voters, granted, state.clock.now_ms())
    state.append(batch)
    leader = Leader(
        epoch_start_offset=start,
        granted=granted,
        elected_by=state.voters,
        progress={voter: Progress() for voter in sorted({*state.voters, state.node_id})},
        check_deadline=now + state.timeouts.check_quorum_ms if state.others else inf,
        begin_at=now if state.others else inf,
    )
    take(state, leader)
    if state.others:
        _announce(state, leader)


def resign(state: State) -> None:
    """Stop leading; the follower that has the most should stand next."""
    leader = state.role
    assert isinstance(leader, Leader)
    deadline = state.election_deadline()
    take(state, Resigned(deadline) if state.is_voter else Unattached(deadline))
    successors = sorted(state.others, key=lambda node: -leader.progress[node].end_offset)
    for voter in state.others:
        request = EndQuorumEpochRequest(
            source=state.node_id,
            destination=voter,
            correlation_id=state.next_correlation_id(),
            epoch=state.epoch,
            successors=tuple(successors),
        )
        state.outbox.append(request)


def tick_leader(state: State, leader: Leader) -> None:
    now = state.now_ms()
    if now >= leader.check_deadline:
        resign(state)
        return
    if now >= leader.begin_at:
        _announce(state, leader)
    for node, waiting in list(leader.waiting.items()):
        if now >= waiting.deadline:
            del leader.waiting[node]
            _answer_fetch(state, waiting.request)


def on_fetch_request(state: State, request: FetchRequest) -> None:
    """Give what follows, or say why not. A valid fetch is an acknowledgement of everything before it."""
    leader = state.role
    if not isinstance(leader, Leader):
        refuse_fetch(state, request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    elif request.epoch < state.epoch:
        refuse_fetch(state, request, ErrorCode.FENCED_LEADER_EPOCH)
    elif request.epoch > state.epoch:
        refuse_fetch(state, request, ErrorCode.UNKNOWN_LEADER_EPOCH)
    else:
        hear(state, leader, request.source)
        if _divergence(state, request) is None and _missing(state, request) is None:
            _acknowledge(state, leader, request)
        _answer_or_hold(state, leader, request)


def hear(state: State, leader: Leader, node: int) -> None:
    """A replica is alive and follows this leader. When a majority does, the leader may go on for a while."""
    now = state.now_ms()
    if node not in leader.progress:
        _make_room(state, leader)
        leader.progress[node] = Progress()
    leader.progress[node].fetched_at = now
    if node not in state.voters:
        return
    times = sorted((leader.progress[voter].fetched_at for voter in state.others), reverse=True)
    needed = state.majority - state.is_voter  # a leader that votes counts itself
    heard_at = times[needed - 1]
    leader.check_deadline = max(leader.check_deadline, heard_at + state.timeouts.check_quorum_ms)


def advance_high_watermark(state: State) -> None:
    """Commit what a majority has durable, once something of the leader's own epoch is among it.

    An older epoch's batch on a majority may still be replaced by a leader that lacks it; with one of this
    epoch behind it, no such leader can be elected.
    """
    leader = state.role
    if not isinstance(leader, Leader):
        return
    ends = sorted((leader.progress[voter].end_offset for voter in state.voters), reverse=True)
    committed = ends[state.majority - 1]
    if committed > leader.epoch_start_offset and committed > state.high_watermark:
        state.high_watermark = committed


def flushed(state: State) -> None:
    """The leader's own log is durable up to its end."""
    if isinstance(state.role, Leader):
        own = state.role.progress[state.node_id]
        own.end_offset = state.log.end_offset
        own.fetched_at = own.caught_up_at = state.now_ms()
        advance_high_watermark(state)


def take_voters(state: State, leader: Leader, voters: VoterSet) -> int:
    """Append a change of voters, by which this leader goes from now on; the end of the log then."""
    end_offset = state.append(voters_batch(voters, state.clock.now_ms()))
    state.voter_history.forget_before(state.log.start.offset)
    state.voter_history.add(end_offset - 1, voters)
    now = state.now_ms()
    for voter in sorted(state.voters):
        leader.progress.setdefault(voter, Progress())
    leader.check_deadline = now + state.timeouts.check_quorum_ms if state.others else inf
    leader.begin_at = now if state.others else inf
    return end_offset


def leave_if_removed(state: State) -> None:
    """A leader that is no voter any more stops when the voters without it are committed."""
    if (
        isinstance(state.role, Leader)
        and not state.is_voter
        and state.high_watermark > state.voter_history.latest_offset
    ):
        resign(state)


def answer_waiting(state: State) -> None:
    """Answer the held fetches for which there is something new."""
    leader = state.role
    if isinstance(leader, Leader):
        for node, waiting in list(leader.waiting.items()):
            if _has_news(state, waiting.request):
                del leader.waiting[node]
                _answer_fetch(state, waiting.request)


def on_epoch_response(state: State, response: BeginQuorumEpochResponse | EndQuorumEpochResponse) -> None:
    """They acknowledge nothing that is not known by fetches; a newer epoch in them counts."""
    observe(state, response)


def _announce(state: State, leader: Leader) -> None:
    """Announce the leader to every voter that has not fetched lately."""
    now = state.now_ms()
    period = state.timeouts.fetch_timeout_ms / 2
    leader.begin_at = now + period
    for voter in state.others:
        fetched_at = leader.progress[voter].fetched_at
        if not fetched_at or now - fetched_at >= period:
            request = BeginQuorumEpochRequest(
                source=state.node_id,
                destination=voter,
                correlation_id=state.next_correlation_id(),
                epoch=state.epoch,
            )
            state.outbox.append(request)


def _acknowledge(state: State, leader: Leader, request: FetchRequest) -> None:
    progress = leader.progress[request.source]
    progress.end_offset = max(progress.end_offset, request.fetch_offset)
    if progress.end_offset == state.log.end_offset:
        progress.caught_up_at = state.now_ms()
    if request.source in state.voters:
        advance_high_watermark(state)


def _answer_or_hold(state: State, leader: Leader, request: FetchRequest) -> None:
    older = leader.waiting.pop(request.source, None)
    if older is not None:
        _answer_fetch(state, older.request)
    if request.max_wait_ms <= 0 or _has_news(state, request):
        _answer_fetch(state, request)
    else:
        leader.waiting[request.source] = WaitingFetch(request, state.now_ms() + request.max_wait_ms)


def _has_news(state: State, request: FetchRequest) -> bool:
    told = min(state.high_watermark, state.log.end_offset)
    return (
        _missing(state, request) is not None
        or _divergence(state, request) is not None
        or state.log.end_offset > request.fetch_offset
        or told > request.high_watermark
    )


def _missing(state: State, request: FetchRequest) -> OffsetAndEpoch | None:
    """The snapshot that must come first: the log no longer reaches back to where the replica's ends."""
    start, snapshot = state.log.start, state.log.latest_snapshot
    if start.offset == 0 or snapshot is None:
        return None
    end = OffsetAndEpoch(request.fetch_offset, request.last_fetched_epoch)
    reaches = end == start or (end.offset > start.offset and end.epoch >= start.epoch)
    return None if reaches else snapshot


def _divergence(state: State, request: FetchRequest) -> OffsetAndEpoch | None:
    """Where the replica's log must differ: None when it is a beginning of this one."""
    end = state.log.end_of_epoch(request.last_fetched_epoch)
    if end.epoch == request.last_fetched_epoch and end.offset >= request.fetch_offset:
        return None
    return end


def _answer_fetch(state: State, request: FetchRequest) -> None:
    missing = _missing(state, request)
    diverging = _divergence(state, request) if missing is None else None
    batches = b""
    if missing is None and diverging is None:
        batches = state.log.read(request.fetch_offset, state.timeouts.fetch_max_bytes)
    answer = FetchResponse(
        **answers.to(request, state),
        high_watermark=state.high_watermark,
        batches=batches,
        diverging=diverging,
        snapshot=missing,
    )
    state.outbox.append(answer)


def _make_room(state: State, leader: Leader) -> None:
    observers = [node for node in leader.progress if node not in state.voters]
    if len(observers) >= MAX_OBSERVERS:
        silent = min(observers, key=lambda node: leader.progress[node].fetched_at)
        del leader.progress[silent]
        leader.waiting.pop(silent, None)
