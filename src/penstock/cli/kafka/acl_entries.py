"""Access control entries for `kafka-acls`: asked for, made and removed, and written as Java writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from penstock.cli.kafka.asking import Asker, check
from penstock.security.acls import PatternType, Permission
from penstock.security.operations import Operation, ResourceType

_VERSIONS: Final = (1, 3)


class Pattern(NamedTuple):
    """The resources that an entry names; with `ANY` and `MATCH`, a filter over them."""

    kind: ResourceType
    name: str
    pattern: PatternType

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.kind.name}, name={self.name}, "
            f"patternType={self.pattern.name})"
        )


class Entry(NamedTuple):
    """What a principal may or may not do."""

    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )


def described(asker: Asker, pattern: Pattern | None) -> dict[Pattern, list[Entry]]:
    """The entries that the filter finds, or all; patterns and entries in their order."""
    from penstock.protocol.apis import Api

    answer = asker.any(Api.DESCRIBE_ACLS, _filter(pattern, None), _VERSIONS)
    check(answer)
    found = {
        Pattern(ResourceType(each.resource_type), each.resource_name, PatternType(each.pattern_type)): sorted(
            Entry(acl.principal, acl.host, Operation(acl.operation), Permission(acl.permission_type))
            for acl in each.acls
        )
        for each in answer.resources
    }
    return dict(sorted(found.items()))


def create(asker: Asker, pattern: Pattern, entries: Iterable[Entry]) -> None:
    from penstock.protocol.apis import Api

    creations = [
        {
            "resource_type": pattern.kind,
            "resource_name": pattern.name,
            "resource_pattern_type": pattern.pattern,
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation,
            "permission_type": entry.permission,
        }
        for entry in entries
    ]
    for result in asker.any(Api.CREATE_ACLS, {"creations": creations}, _VERSIONS).results:
        check(result)


def delete(asker: Asker, pattern: Pattern, entries: Iterable[Entry]) -> None:
    """The entries under every pattern that the filter finds; without entries, all under those patterns."""
    from penstock.protocol.apis import Api

    filters = [_filter(pattern, entry) for entry in entries] or [_filter(pattern, None)]
    for result in asker.any(Api.DELETE_ACLS, {"filters": filters}, _VERSIONS).filter_results:
        check(result)
        for each in result.matching_acls:
            check(each)


def _filter(pattern: Pattern | None, entry: Entry | None) -> dict[str, Any]:
    return {
        "resource_type_filter": pattern.kind if pattern else ResourceType.ANY,
        "resource_name_filter": pattern.name if pattern else None,
        "pattern_type_filter": pattern.pattern if pattern else PatternType.ANY,
        "principal_filter": entry.principal if entry else None,
        "host_filter": entry.host if entry else None,
        "operation": entry.operation if entry else Operation.ANY,
        "permission_type": entry.permission if entry else Permission.ANY,
    }
