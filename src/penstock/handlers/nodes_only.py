"""Requests that only nodes of the cluster may send: each asks for CLUSTER_ACTION before anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import Permits
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.operations import Operation, ResourceType

T = TypeVar("T")


def refused_node(request: Request, broker: Permits) -> KafkaError | None:
    """The error for a principal that is no node of this cluster; None for one that is."""
    if request.may(broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER):
        return None
    return KafkaError(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        f"{request.principal} is not authorized for {Operation.CLUSTER_ACTION.name} on the cluster.",
    )


def if_node(request: Request, broker: Permits, ask: Callable[[], Promise[T]]) -> Promise[T]:
    """What `ask` promises; a broken promise, and nothing asked, for a principal that is no node."""
    refusal = refused_node(request, broker)
    return ask() if refusal is None else failed(refusal)
