"""From role to role, where no election is won: to know no leader, to follow one, to learn of a newer
epoch."""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode
from penstock.raft.answers import refuse_fetch
from penstock.raft.messages import ResponseMessage
from penstock.raft.roles import Candidate, Follower, Leader, Prospective, Role, Unattached
from penstock.raft.state import State


def enter_epoch(state: State, epoch: int) -> None:
    """Enter an epoch. In a newer one this node has not voted yet."""
    assert epoch >= state.epoch, f"epoch {epoch} after {state.epoch}"
    if epoch > state.epoch:
        state.epoch, state.voted_for = epoch, None


def become_unattached(state: State, epoch: int) -> None:
    """Know no leader. A node that waits for an election keeps its deadline: a stream of newer epochs must not
    keep it from standing."""
    deadline = state.election_deadline()
    if isinstance(state.role, Unattached | Prospective | Candidate):
        deadline = min(deadline, state.role.election_deadline)
    enter_epoch(state, epoch)
    take(state, Unattached(deadline))


def become_follower(state: State, epoch: int, leader_id: int) -> None:
    """Follow the leader of `epoch`. Nothing happens when that is so already."""
    if epoch == state.epoch and state.leader_id is not None:
        assert state.leader_id == leader_id, f"nodes {state.leader_id} and {leader_id} lead epoch {epoch}"
        return
    enter_epoch(state, epoch)
    take(state, Follower(leader_id, state.now_ms() + state.timeouts.fetch_timeout_ms))


def take(state: State, role: Role) -> None:
    """Leave the old role for the new one; what only a leader could answer is answered."""
    old, state.role = state.role, role
    if isinstance(old, Leader):
        for waiting in old.waiting.values():
            refuse_fetch(state, waiting.request, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def observe(state: State, answer: ResponseMessage) -> None:
    """Learn from any answer which node leads, and whether a newer epoch has begun."""
    if answer.epoch < state.epoch or answer.leader_id == state.node_id:
        return
    if answer.leader_id is not None:
        become_follower(state, answer.epoch, answer.leader_id)
    elif answer.epoch > state.epoch:
        become_unattached(state, answer.epoch)
