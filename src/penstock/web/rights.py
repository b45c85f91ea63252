"""What a caller may do, where a service acts as itself: by the access control entries of its cluster.

The entries and `super.users` are read from the broker with the service's own credentials, which need Describe
and DescribeConfigs on the cluster, and are read again after `REFRESHED_S`. The decision is made by the code
that the broker itself runs, so every door decides alike. A service that cannot read them for
`STALE_S` lets nobody do anything.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from penstock.client.errors import ClientError
from penstock.security.access import Access
from penstock.security.authorizer import Authorizer
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType
from penstock.web.callers import Asked, Caller
from penstock.web.errors import HttpError
from penstock.web.threads import Threads

REFRESHED_S: Final = 2.0
STALE_S: Final = 30.0
DENIED: Final = 40301
_log = logging.getLogger(__name__)


class Rights:
    def __init__(self, load: Callable[[], Authorizer], now: Callable[[], float] = time.monotonic) -> None:
        """`load` blocks, and raises ClientError when the broker does not tell."""
        self._load = load
        self._now = now
        self._kept: tuple[float, Authorizer] | None = None
        self._running: asyncio.Future[None] | None = None
        self._threads: Threads | None = None

    async def may(
        self, caller: Caller, operation: Operation, resource: ResourceType, name: str, request: str
    ) -> bool:
        """`request` names what is asked, for the audit log."""
        authorizer = await self.authorizer()
        return authorizer.authorize(caller.principal, caller.host, operation, resource, name, request)

    async def authorize(self, asked: Asked) -> None:
        """An `Authorize` for routes that declare an `Access`. On the cluster it is decided here; on resources
        whose names stand in the body, the handler asks for each of them. A caller that may do it on none is
        turned away here."""
        access = asked.route.access
        if not isinstance(access, Access):
            return
        authorizer, caller = await self.authorizer(), asked.caller
        who = caller.principal, caller.host, access.operation, access.resource
        if access.resource is ResourceType.CLUSTER:
            allowed = authorizer.authorize(*who, CLUSTER_NAME, f"{asked.route.method} {asked.route.path}")
        else:
            allowed = authorizer.authorize_any(*who)
        if not allowed:
            raise denied(caller, access.operation, access.resource)

    async def authorizer(self) -> Authorizer:
        """The decisions of the cluster, as of a moment ago."""
        kept = self._kept
        if kept is not None and self._now() < kept[0] + REFRESHED_S:
            return kept[1]
        if self._running is None:
            self._running = asyncio.ensure_future(self._refresh())
            self._running.add_done_callback(self._forget)
        await asyncio.shield(self._running)
        kept = self._kept
        if kept is None or self._now() >= kept[0] + STALE_S:
            raise HttpError(503, "The access control entries of the cluster cannot be read.", 50301)
        return kept[1]

    async def _refresh(self) -> None:
        self._threads = self._threads or Threads(1, "rights")
        began = self._now()
        try:
            self._kept = began, await self._threads.call(self._load)
        except ClientError as error:
            _log.warning("the access control entries cannot be read: %s", error)

    def _forget(self, _done: asyncio.Future[None]) -> None:
        self._running = None


def denied(caller: Caller, operation: Operation, resource: ResourceType, name: str = "") -> HttpError:
    what = resource.name.lower().replace("_", " ") + (f" {name}" if name else "")
    return HttpError(403, f"{caller.principal} may not {operation.name} on the {what}.", DENIED)
