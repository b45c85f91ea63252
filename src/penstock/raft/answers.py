"""How a node answers a request: every answer carries the request's number back, and names the leader."""

from __future__ import annotations

from typing import TypedDict

from penstock.protocol.errors import ErrorCode
from penstock.raft.messages import FetchRequest, FetchResponse, Request
from penstock.raft.state import State


class AnswerFields(TypedDict):
    """What every answer has; see `penstock.raft.messages:Answer`."""

    source: int
    destination: int
    correlation_id: int
    epoch: int
    leader_id: int | None
    error: ErrorCode


def to(request: Request, state: State, error: ErrorCode = ErrorCode.NONE) -> AnswerFields:
    """The fields that every answer to `request` has, from what this node knows now."""
    return {
        "source": state.node_id,
        "destination": request.source,
        "correlation_id": request.correlation_id,
        "epoch": state.epoch,
        "leader_id": state.leader_id,
        "error": error,
    }


def refuse_fetch(state: State, request: FetchRequest, error: ErrorCode) -> None:
    """Answer a fetch that this node cannot serve."""
    state.outbox.append(FetchResponse(**to(request, state, error)))
