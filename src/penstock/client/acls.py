"""`Acls`: access control entries of a cluster; asked, made, taken away.

By our own connection: librdkafka does not know every kind of resource, and gives an empty list where the
broker refuses to tell. Called by the REST Proxy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from penstock.client.direct import Direct, check
from penstock.client.errors import InvalidValue
from penstock.protocol.apis import Api
from penstock.security.acls import PatternType, Permission
from penstock.security.operations import Operation, ResourceType

if TYPE_CHECKING:
    from penstock.client.admin import Admin

ANY: Final = "ANY"
_VERSIONS: Final = (1, 3)
Kind = TypeVar("Kind", ResourceType, PatternType, Operation, Permission)


class Acl(NamedTuple):
    """One entry; as a filter, ANY and None match everything."""

    resource_type: str = ANY
    resource_name: str | None = None
    pattern_type: str = ANY
    principal: str | None = None
    host: str | None = None
    operation: str = ANY
    permission: str = ANY


class Acls:
    def __init__(self, admin: Admin) -> None:
        self._direct = Direct(admin.connection)

    def describe(self, wanted: Acl) -> list[Acl]:
        answer = self._direct.ask(Api.DESCRIBE_ACLS, _filter_fields(wanted), _VERSIONS)
        check(answer, "read access control entries")
        return sorted(_entry(each, acl) for each in answer.resources for acl in each.acls)

    def create(self, entries: Sequence[Acl]) -> None:
        """Each of them; raises the error of the first that is refused."""
        creations = [_entry_fields(entry) for entry in entries]
        answer = self._direct.ask(Api.CREATE_ACLS, {"creations": creations}, _VERSIONS)
        for result in answer.results:
            check(result, "create an access control entry")

    def delete(self, wanted: Acl) -> list[Acl]:
        """What was deleted."""
        answer = self._direct.ask(Api.DELETE_ACLS, {"filters": [_filter_fields(wanted)]}, _VERSIONS)
        (result,) = answer.filter_results
        check(result, "delete access control entries")
        for each in result.matching_acls:
            check(each, "delete an access control entry")
        return sorted(_entry(each, each) for each in result.matching_acls)


def _filter_fields(wanted: Acl) -> dict[str, Any]:
    return {
        "resource_type_filter": _named(ResourceType, wanted.resource_type, "resource type"),
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": _named(PatternType, wanted.pattern_type, "pattern type"),
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": _named(Operation, wanted.operation, "operation"),
        "permission_type": _named(Permission, wanted.permission, "permission"),
    }


def _entry_fields(entry: Acl) -> dict[str, Any]:
    return {
        "resource_type": _named(ResourceType, entry.resource_type, "resource type"),
        "resource_name": entry.resource_name or "",
        "resource_pattern_type": _named(PatternType, entry.pattern_type, "pattern type"),
        "principal": entry.principal or "",
        "host": entry.host or "",
        "operation": _named(Operation, entry.operation, "operation"),
        "permission_type": _named(Permission, entry.permission, "permission"),
    }


def _named(kind: type[Kind], name: str, what: str) -> int:
    try:
        return int(kind[name.upper()])
    except KeyError:
        allowed = ", ".join(each.name for each in kind)
        raise InvalidValue(f"{name!r:.80} is no {what}. Use one of {allowed}.") from None


def _entry(resource: Any, acl: Any) -> Acl:
    return Acl(
        ResourceType(resource.resource_type).name,
        resource.resource_name,
        PatternType(resource.pattern_type).name,
        acl.principal,
        acl.host,
        Operation(acl.operation).name,
        Permission(acl.permission_type).name,
    )
