"""`Proxy`: the Kafka clients of one REST Proxy, put together; what the routes of both versions stand on.

Blocking work (administration, the Schema Registry) goes through `ask`: a bounded number of threads, and a
deadline for the caller. Made by `main`, started inside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from penstock.client.errors import ClientError
from penstock.rest.clients import CallersClients, Clients
from penstock.rest.config import RestSettings
from penstock.rest.consumer import Consumer
from penstock.rest.errors import AUTHORIZATION, UNAVAILABLE, RestError, from_client
from penstock.rest.instances import Instances, Key
from penstock.web import Call
from penstock.web.threads import Threads

T = TypeVar("T")
ADMIN_THREADS: Final = 16
GRACE_S: Final = 5.0
"""A call has its own deadline; this much later its caller no longer waits for it."""


class Proxy:
    def __init__(self, bootstrap_servers: str, settings: RestSettings, *, asks_callers: bool = False) -> None:
        """With `asks_callers` the proxy acts for its callers, and never with rights of its own."""
        self.settings = settings
        self._bootstrap_servers = bootstrap_servers
        self._asks_callers = asks_callers
        self._own = Clients(bootstrap_servers, settings)
        self._callers: CallersClients
        self.instances: Instances
        self._threads: Threads
        self._cluster_id = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What needs the event loop lives inside."""
        self._threads = Threads(ADMIN_THREADS, "rest-admin")
        self._callers = CallersClients(self._bootstrap_servers, self.settings)
        self.instances = Instances(self._bootstrap_servers, self.settings)
        try:
            yield
        finally:
            await self.instances.close()
            await self._callers.close()
            await asyncio.to_thread(self._own.close)

    def clients(self, call: Call) -> Clients:
        """The clients with which this call is served: those of its caller."""
        if not self._asks_callers:
            return self._own
        sasl = call.caller.sasl
        if sasl is None:
            raise RestError(
                AUTHORIZATION,
                f"The proxy acts for its callers, and {call.principal} has proved itself in a way that the "
                "broker cannot be shown. Give a name and a password, or a token, that the broker knows.",
            )
        return self._callers.of(sasl)

    def settings_of(self, call: Call) -> RestSettings:
        """Those with which a consumer of this call is made."""
        return self.clients(call).settings

    async def ask(self, call: Callable[..., T], *arguments: Any) -> T:
        """A blocking call's answer; a Kafka error becomes the proxy's."""
        within_s = 2 * self.settings.request_timeout_s + GRACE_S
        try:
            async with asyncio.timeout(within_s):
                return await self._threads.call(call, *arguments)
        except ClientError as error:
            raise from_client(error) from error
        except TimeoutError as error:
            raise RestError(UNAVAILABLE, f"Kafka did not answer within {within_s:g} s.") from error

    async def cluster_id(self, call: Call) -> str:
        """Asked once: a proxy serves one cluster, whose id does not change."""
        if not self._cluster_id:
            self._cluster_id = (await self.ask(self.clients(call).admin.cluster)).cluster_id or ""
        return self._cluster_id

    async def with_instance(self, call: Call, use: Callable[[Consumer], T], within_s: float = 0.0) -> T:
        """The same with the consumer instance that the path names; `within_s` is what the use itself may
        wait."""
        key = instance_of(call)
        try:
            return await self.instances.use(
                key, use, within_s + 2 * self.settings.request_timeout_s + GRACE_S
            )
        except ClientError as error:
            raise from_client(error) from error

    def url_of(self, call: Call) -> str:
        """What links begin with: the advertised URL, or how the client called the proxy."""
        if self.settings.advertised_url:
            return self.settings.advertised_url.rstrip("/")
        url = call.request.url
        return f"{url.scheme}://{url.netloc}"


def instance_of(call: Call) -> Key:
    """An instance belongs to the principal that has made it; to others it is not there."""
    return str(call.principal), call.path["group"], call.path["instance"]
