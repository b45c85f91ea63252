"""Standing for election and voting: pre-vote first, then the real one (KIP-996)."""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode
from penstock.raft import answers
from penstock.raft.leading import become_leader
from penstock.raft.messages import VoteRequest, VoteResponse
from penstock.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from penstock.raft.state import State
from penstock.raft.transitions import become_unattached, enter_epoch, observe, take


def become_prospective(state: State) -> None:
    """Ask whether an election would be won. A single voter has its answer at once."""
    assert state.may_stand, "an observer cannot be elected"
    granted = state.own_vote
    take(state, Prospective(state.election_deadline(), granted=set(granted)))
    if len(granted) >= state.majority:
        become_candidate(state)
    else:
        _ask_for_votes(state, pre_vote=True)


def become_candidate(state: State) -> None:
    """Begin an epoch and vote for oneself in it."""
    enter_epoch(state, state.epoch + 1)
    state.voted_for = state.node_id
    granted = state.own_vote
    take(state, Candidate(state.election_deadline(), granted=set(granted)))
    if len(granted) >= state.majority:
        become_leader(state, granted)
    else:
        _ask_for_votes(state, pre_vote=False)


def tick_waiting_for_election(state: State, role: Unattached | Resigned) -> None:
    """No leader has been heard of for long enough."""
    if state.may_stand and state.now_ms() >= role.election_deadline:
        become_prospective(state)


def tick_standing(state: State, role: Prospective | Candidate) -> None:
    """The round has brought no majority in time: another, which begins with a pre-vote."""
    if state.now_ms() >= role.election_deadline:
        become_prospective(state)


def on_vote_request(state: State, request: VoteRequest) -> None:
    # Any node may give its vote to any other: which nodes vote is in the log, and either log may be behind.
    # The candidate counts the votes of the voters that it knows.
    if request.epoch < state.epoch:
        _answer(state, request, granted=False, error=ErrorCode.FENCED_LEADER_EPOCH)
        return
    if request.epoch > state.epoch:
        become_unattached(state, request.epoch)
    granted = _may_grant(state, request)
    if granted and not request.pre_vote and state.voted_for is None:
        state.voted_for = request.source
        # The candidate gets its time to win before this node stands itself.
        take(state, Unattached(state.election_deadline()))
    elif granted and request.pre_vote and isinstance(state.role, Prospective) and _gives_way(state, request):
        take(state, Unattached(state.election_deadline()))
    _answer(state, request, granted=granted)


def on_vote_response(state: State, response: VoteResponse) -> None:
    if not (response.pre_vote and response.granted):
        # A voter that grants a pre-vote does not hear the leader that its answer names. Following that leader
        # again would lose the vote, round after round, when the leader is gone for good.
        observe(state, response)
    role = state.role
    expected = Prospective if response.pre_vote else Candidate
    if not isinstance(role, Prospective | Candidate) or not isinstance(role, expected):
        return
    if response.epoch != state.epoch or response.source not in state.voters:
        return
    (role.granted if response.granted else role.rejected).add(response.source)
    if len(role.granted) >= state.majority:
        if isinstance(role, Prospective):
            become_candidate(state)
        else:
            become_leader(state, frozenset(role.granted))
    elif len(role.rejected) >= state.majority:
        _lose(state, role)


def _lose(state: State, role: Prospective | Candidate) -> None:
    """A majority has said no: wait a while, by chance, before asking again."""
    pause = state.random.uniform(0, state.timeouts.election_backoff_max_ms)
    take(state, Unattached(min(role.election_deadline, state.now_ms() + pause)))


def _may_grant(state: State, request: VoteRequest) -> bool:
    """Whether the candidate may have this voter's vote. A candidate whose log lacks what this one has is
    refused, so that every leader holds everything that is committed."""
    mine = state.log_end
    up_to_date = (request.log_end.epoch, request.log_end.offset) >= (mine.epoch, mine.offset)
    if request.pre_vote:
        return up_to_date and not _hears_a_leader(state)
    if state.voted_for is not None:
        return state.voted_for == request.source
    return up_to_date and state.leader_id is None


def _gives_way(state: State, request: VoteRequest) -> bool:
    """Of two that ask for pre-votes at the same time the one with more goes on, among equals that with the
    larger number. Voters hear their leader last at the same moment, and miss it at the same: each would vote
    for itself, and a round be lost."""
    return request.log_end != state.log_end or request.source > state.node_id


def _hears_a_leader(state: State) -> bool:
    return isinstance(state.role, Leader) or (isinstance(state.role, Follower) and state.role.has_fetched)


def _ask_for_votes(state: State, *, pre_vote: bool) -> None:
    for voter in state.others:
        request = VoteRequest(
            source=state.node_id,
            destination=voter,
            correlation_id=state.next_correlation_id(),
            epoch=state.epoch,
            log_end=state.log_end,
            pre_vote=pre_vote,
        )
        state.outbox.append(request)


def _answer(state: State, request: VoteRequest, *, granted: bool, error: ErrorCode = ErrorCode.NONE) -> None:
    fields = answers.to(request, state, error)
    state.outbox.append(VoteResponse(**fields, granted=granted, pre_vote=request.pre_vote))
