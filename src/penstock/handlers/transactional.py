"""What the requests of transactional producers have in common: who may use an id, and which errors an old
client knows."""

from __future__ import annotations

from typing import Final

from penstock.handlers.parts import Permits
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.operations import Operation, ResourceType

KNOWS_PRODUCER_FENCED_FROM: Final = 2
"""Of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn."""


def refused_id(
    request: Request, broker: Permits, operation: Operation, transactional_id: str
) -> KafkaError | None:
    """The error for somebody who may not use this transactional id; None for who may."""
    if request.may(broker, operation, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return None
    return KafkaError(
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, f"Not authorized to use {transactional_id}."
    )


def as_known_to(request: Request, known_from: int, code: ErrorCode) -> ErrorCode:
    """PRODUCER_FENCED came late: clients of older versions know the same as INVALID_PRODUCER_EPOCH."""
    if code is ErrorCode.PRODUCER_FENCED and request.version < known_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
