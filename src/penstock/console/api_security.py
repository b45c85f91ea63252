"""Routes of the JSON API for access control entries, users and producers. `api` joins them."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.client.acls import Acl
from penstock.console.cluster_values import TopicProducer
from penstock.console.services import Services
from penstock.security.access import ByBroker
from penstock.security.operations import Operation, ResourceType
from penstock.web import Call, Problem, Route

READ: Final = ByBroker(Operation.DESCRIBE, ResourceType.CLUSTER)
WRITE: Final = ByBroker(Operation.ALTER, ResourceType.CLUSTER)


class Entry(msgspec.Struct):
    """An access control entry, in Kafka's words."""

    resource_type: str
    resource_name: str
    principal: str
    operation: str
    pattern_type: str = "LITERAL"
    host: str = "*"
    permission: str = "ALLOW"


class UserShape(msgspec.Struct):
    name: str
    iterations: dict[str, int]
    """By mechanism."""


class Password(msgspec.Struct):
    password: str


def security_routes(services: Services, invalid: Problem, no_topic: Problem) -> tuple[Route, ...]:
    api = SecurityApi(services)
    acls, user = "/api/acls", "/api/users/{name}"
    return (
        Route("GET", "/api/topics/{name}/producers", api.producers, "Producers that partitions remember.",
              returns=list[TopicProducer], problems=(no_topic,),
              access=ByBroker(Operation.READ, ResourceType.TOPIC)),
        Route("GET", acls, api.acls, "Access control entries.", returns=list[Entry], access=READ),
        Route("POST", acls, api.create_acl, "Creates an entry.", body=Entry, status=204, access=WRITE,
              problems=(invalid,)),
        Route("DELETE", acls, api.delete_acl, "Deletes the entry of the body.", body=Entry, status=204,
              access=WRITE, problems=(invalid,)),
        Route("GET", "/api/users", api.users, "Users with SCRAM credentials.", returns=list[UserShape],
              access=READ),
        Route("PUT", user, api.set_password, "Sets a password; creates the user if need be.", body=Password,
              status=204, access=WRITE, problems=(invalid,)),
        Route("DELETE", user, api.delete_user, "Deletes a user.", status=204, access=WRITE),
    )  # fmt: skip


class SecurityApi:
    """One method for each route."""

    def __init__(self, services: Services) -> None:
        self._backend = services.backend

    async def producers(self, call: Call) -> list[TopicProducer]:
        return await self._backend.producers(call.path["name"])

    async def acls(self, _call: Call) -> list[Entry]:
        return [
            Entry(
                each.resource_type,
                each.resource_name or "",
                each.principal or "",
                each.operation,
                each.pattern_type,
                each.host or "*",
                each.permission,
            )
            for each in await self._backend.acls()
        ]

    async def create_acl(self, call: Call) -> None:
        await self._backend.create_acl(_entry(call.body))

    async def delete_acl(self, call: Call) -> None:
        await self._backend.delete_acl(_entry(call.body))

    async def users(self, _call: Call) -> list[UserShape]:
        return [UserShape(each.name, dict(each.iterations)) for each in await self._backend.users()]

    async def set_password(self, call: Call) -> None:
        await self._backend.set_password(call.path["name"], call.body.password)

    async def delete_user(self, call: Call) -> None:
        await self._backend.delete_user(call.path["name"])


def _entry(given: Entry) -> Acl:
    return Acl(
        given.resource_type.upper(),
        given.resource_name,
        given.pattern_type.upper(),
        given.principal,
        given.host,
        given.operation.upper(),
        given.permission.upper(),
    )
