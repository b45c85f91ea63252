"""Who may do what. Every handler asks; until security arrives the answer is yes."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, Protocol


class Operation(IntEnum):
    """Kafka's ACL operations, with their codes."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceType(IntEnum):
    """Kafka's ACL resource types, with their codes."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


CLUSTER_NAME: Final = "kafka-cluster"

OPERATIONS: Final[dict[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}
"""What can be done with each kind of resource, as Kafka's AclEntry has it."""


class Principal(NamedTuple):
    """Whoever is at the other end of a connection, written `User:alice`."""

    kind: str
    name: str


ANONYMOUS: Final = Principal("User", "ANONYMOUS")


class Authorizer(Protocol):
    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType, name: str
    ) -> bool: ...


class AllowAll:
    """Everybody may do everything."""

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        return True
