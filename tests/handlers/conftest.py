"""Handlers ask for what they declare, and for nothing else, in every test of this area."""

from __future__ import annotations

from functools import cache

import pytest

from penstock.handlers.controller_table import CONTROLLER_HANDLERS
from penstock.handlers.parts import Permits
from penstock.handlers.request import Request
from penstock.handlers.table import HANDLERS
from penstock.protocol.apis import Api
from penstock.security.access import Open
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType

ask = Request.may
look = Request.may_see


@cache
def declared(api: Api) -> frozenset[tuple[Operation, ResourceType]]:
    handlers = [table[api] for table in (HANDLERS, CONTROLLER_HANDLERS) if api in table]
    asked = [handler.ACCESS for handler in handlers if not isinstance(handler.ACCESS, Open)]
    return frozenset((one.operation, one.resource) for access in asked for one in access)


def ask_what_is_declared(
    self: Request,
    broker: Permits,
    operation: Operation,
    resource: ResourceType,
    name: str = CLUSTER_NAME,
) -> bool:
    assert (operation, resource) in declared(self.api), (
        f"{self.api.name} asks for {operation.name} on {resource.name}, which its ACCESS does not say"
    )
    return ask(self, broker, operation, resource, name)


def look_at_what_is_declared(
    self: Request,
    broker: Permits,
    operation: Operation,
    resource: ResourceType,
    name: str = CLUSTER_NAME,
) -> bool:
    assert (operation, resource) in declared(self.api), (
        f"{self.api.name} looks for {operation.name} on {resource.name}, which its ACCESS does not say"
    )
    return look(self, broker, operation, resource, name)


@pytest.fixture(autouse=True)
def only_declared_access(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Request, "may", ask_what_is_declared)
    monkeypatch.setattr(Request, "may_see", look_at_what_is_declared)
