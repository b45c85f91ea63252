"""What each caller of the console sits before: a backend that acts as the caller, and its role.

With a password or a token that the broker knows, the console's clients are made with it, and the broker's
access control entries decide what the pages show and change. A caller that the broker cannot be shown (a
certificate, a password file) gets the console's own backend, narrowed to what its role may do. Seats are
bounded and are closed when nobody has used them for a while.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final, cast

from penstock.client.errors import BrokerRefused
from penstock.console.backend import Backend
from penstock.console.remotes import Remotes
from penstock.console.services import Services
from penstock.security.authorizer import Authorizer
from penstock.security.client_settings import Sasl
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType
from penstock.security.principals import Principal
from penstock.web.application import App
from penstock.web.callers import Caller

SEATS_MAX: Final = 200
SEAT_IDLE_S: Final = 600.0
READING: Final = frozenset(
    {
        "bootstrap_servers",
        "close",
        "configs",
        "decoded",
        "decoded_known",
        "disks",
        "groups",
        "hanging_transactions",
        "learn",
        "messages",
        "producers",
        "quorum",
        "reset_plan",
        "search",
        "snapshot",
        "tail",
        "topic",
        "transactions",
        "written_in",
    }
)
"""What a viewer's backend has; whatever else a backend can do changes something."""


class Role(IntEnum):
    """Each may do what those before it may."""

    VIEWER = 1
    EDITOR = 2
    ADMIN = 3

    @property
    def word(self) -> str:
        return self.name.lower()


def role_of(caller: Caller, authorizer: Authorizer) -> Role:
    """The role that a password file gives, else the one that the cluster's entries amount to.

    An administrator may alter the cluster; an editor may write to some topic, or create one.
    """
    named = [role for role in Role if role.word in caller.roles]
    if named:
        return max(named)
    who = caller.principal, caller.host
    if authorizer.authorize(*who, Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        return Role.ADMIN
    creates = authorizer.authorize(*who, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
    changes = (Operation.WRITE, Operation.CREATE)
    if creates or any(authorizer.authorize_any(*who, each, ResourceType.TOPIC) for each in changes):
        return Role.EDITOR
    return Role.VIEWER


class ViewersBackend:
    """A backend that changes nothing, for a caller whose changes no broker would refuse."""

    def __init__(self, backend: Backend, principal: Principal) -> None:
        self._backend, self._principal = backend, principal

    def __getattr__(self, name: str) -> Any:
        if name in READING:
            return getattr(self._backend, name)
        principal = self._principal

        async def refuse(*_arguments: Any, **_named: Any) -> None:
            message = f"{principal} is a viewer, and may change nothing."
            raise BrokerRefused(message, "CLUSTER_AUTHORIZATION_FAILED")

        return refuse


@dataclass(slots=True)
class Seat:
    services: Services
    own: Services
    """The same without what all seats share: what is closed with the seat."""
    api: App
    """The JSON API over these services."""
    role: Role
    used: float


Key = tuple[Principal, Sasl | None, Role]


class Seats:
    """Made and used in the event loop."""

    def __init__(
        self,
        own: Services,
        backend_as: Callable[[Sasl], Backend],
        remotes_as: Callable[[Caller, Role], Remotes],
        api: Callable[[Services], App],
        now: Callable[[], float],
    ) -> None:
        """`own` is the console's own; `backend_as` and `remotes_as` act for a caller."""
        self._own, self._backend_as, self._remotes_as = own, backend_as, remotes_as
        self._api, self._now = api, now
        self._kept: OrderedDict[Key, Seat] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, caller: Caller, role: Role) -> Seat:
        key = caller.principal, caller.sasl, role
        seat = self._kept.pop(key, None) or self._made(caller, role)
        seat.used = self._now()
        self._kept[key] = seat
        self._make_room()
        return seat

    async def close(self) -> None:
        for seat in self._kept.values():
            await self._close(seat)
        self._kept.clear()
        await asyncio.gather(*self._closing)

    def _made(self, caller: Caller, role: Role) -> Seat:
        if caller.sasl is not None:
            backend = self._backend_as(caller.sasl)
        elif role is Role.VIEWER:
            backend = cast(Backend, ViewersBackend(self._own.backend, caller.principal))
        else:
            backend = self._own.backend
        made = Services.over(backend, self._own.title, remotes=self._remotes_as(caller, role))
        alerts = made.alerts if role is Role.VIEWER else self._own.alerts
        services = replace(made, history=self._own.history, alerts=alerts)
        return Seat(services, made, self._api(services), role, self._now())

    def _make_room(self) -> None:
        before = self._now() - SEAT_IDLE_S
        over = [key for key, seat in self._kept.items() if seat.used < before]
        over += list(self._kept)[: max(0, len(self._kept) - len(over) - SEATS_MAX)]
        for key in over:
            seat = self._kept.pop(key, None)
            if seat is not None:
                task = asyncio.ensure_future(self._close(seat))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def _close(self, seat: Seat) -> None:
        await seat.own.close()
