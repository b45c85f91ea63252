"""What somebody may do with a group, as a set of bits, for the requests that describe groups."""

from __future__ import annotations

from typing import Final

from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.request import Request

GROUP_OPERATIONS: Final = (
    Operation.READ,
    Operation.DELETE,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)


def group_operations(request: Request, broker: Broker, group_id: str) -> int:
    """Bit n stands for the operation with code n."""
    return sum(
        1 << operation
        for operation in GROUP_OPERATIONS
        if request.may(broker, operation, ResourceType.GROUP, group_id)
    )
