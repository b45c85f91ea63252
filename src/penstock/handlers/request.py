"""A request on its way to its handler."""

from __future__ import annotations

from typing import NamedTuple

from penstock.handlers.parts import Permits
from penstock.protocol.apis import Api
from penstock.protocol.primitives import Reader
from penstock.security.operations import CLUSTER_NAME, OPERATIONS, Operation, ResourceType
from penstock.security.principals import Principal


class Request(NamedTuple):
    """Who asks, what, in which version; `reader` stands at the first byte of the body."""

    api: Api
    version: int
    client_id: str
    principal: Principal
    host: str
    listener: str
    reader: Reader

    def may(
        self, broker: Permits, operation: Operation, resource: ResourceType, name: str = CLUSTER_NAME
    ) -> bool:
        return broker.authorizer.authorize(self.principal, self.host, operation, resource, name)

    def operations(self, broker: Permits, resource: ResourceType, name: str = CLUSTER_NAME) -> int:
        """All that may be done with a resource, one bit for each operation (KIP-430). Nothing is refused by
        it, so an API need not declare it."""
        may = broker.authorizer.authorize
        return sum(
            1 << operation
            for operation in OPERATIONS[resource]
            if may(self.principal, self.host, operation, resource, name)
        )
