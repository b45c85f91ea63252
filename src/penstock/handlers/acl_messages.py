"""Access control entries and filters in the requests and answers about them. One shape for all three APIs."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.handlers.parts import ReadsMetadata
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.acls import Acl, AclFilter, PatternType, Permission
from penstock.security.operations import Operation, ResourceType

Kind = TypeVar("Kind", ResourceType, PatternType, Operation, Permission)


def check_enabled(broker: ReadsMetadata) -> None:
    """KafkaError on a cluster that has no authorizer: entries would mean nothing."""
    if not broker.settings.authorizer_class_name:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")


def read_acl(wanted: Any) -> Acl:
    """An entry to be created. KafkaError for a code that is not known."""
    return Acl(
        _known(ResourceType, wanted.resource_type, "resourceType"),
        _known(PatternType, getattr(wanted, "resource_pattern_type", PatternType.LITERAL), "patternType"),
        wanted.resource_name,
        wanted.principal,
        wanted.host,
        _known(Operation, wanted.operation, "operation"),
        _known(Permission, wanted.permission_type, "permissionType"),
    )


def read_filter(wanted: Any) -> AclFilter:
    """KafkaError for a code that is not known: it would match nothing, or everything."""
    return AclFilter(
        _known(ResourceType, wanted.resource_type_filter, "resourceType"),
        _known(PatternType, getattr(wanted, "pattern_type_filter", PatternType.LITERAL), "patternType"),
        wanted.resource_name_filter,
        wanted.principal_filter,
        wanted.host_filter,
        _known(Operation, wanted.operation, "operation"),
        _known(Permission, wanted.permission_type, "permissionType"),
    )


def pattern_fields(acl: Acl) -> dict[str, Any]:
    return {"resource_type": acl.resource, "resource_name": acl.name, "pattern_type": acl.pattern}


def entry_fields(acl: Acl) -> dict[str, Any]:
    return {
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }


def _known(kind: type[Kind], code: int, name: str) -> Kind:
    try:
        return kind(code)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid {name} {code}") from None
