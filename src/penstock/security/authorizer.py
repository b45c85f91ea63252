"""The question that every handler asks before it does or shows anything."""

from __future__ import annotations

from typing import Protocol

from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import Principal


class Authorizer(Protocol):
    """Decides from what it holds in memory: it is asked for each topic of each request, and never waits."""

    def authorize(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
        request: str = "",
    ) -> bool:
        """`request` is the API's name, for the audit log; without it the question is not written down."""
        ...

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        """Whether the operation is allowed on some resource of this type, whatever its name."""
        ...


class AllowAll:
    """Every principal may do everything: a broker without `authorizer.class.name`."""

    def authorize(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
        request: str = "",
    ) -> bool:
        return True

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        return True
