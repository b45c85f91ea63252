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
        """Whether the client may. A refusal is written to the audit log."""
        return broker.authorizer.authorize(
            self.principal, self.host, operation, resource, name, self.api.name
        )

    def may_see(
        self, broker: Permits, operation: Operation, resource: ResourceType, name: str = CLUSTER_NAME
    ) -> bool:
        """The same for a list whose unseen items are left out: nobody asked for them by name, so a refusal is
        not written down."""
        return broker.authorizer.authorize(self.principal, self.host, operation, resource, name)

    def cluster_operations(self, broker: Permits) -> int:
        """Zero for a client that may not describe the cluster, as Kafka has it."""
        if not self.may(broker, Operation.DESCRIBE, ResourceType.CLUSTER):
            return 0
        return self.operations(broker, ResourceType.CLUSTER)

    def operations(self, broker: Permits, resource: ResourceType, name: str = CLUSTER_NAME) -> int:
        """All that may be done with a resource, one bit for each operation (KIP-430). Nothing is refused by
        it, so an API need not declare it."""
        may = broker.authorizer.authorize
        return sum(
            1 << operation
            for operation in OPERATIONS[resource]
            if may(self.principal, self.host, operation, resource, name)
        )
