"""`Proxy`: the Kafka clients of one REST Proxy, put together; what the routes of both versions stand on.

Blocking work (administration, the Schema Registry) goes through `ask`: a bounded number of threads, and a
deadline for the caller. Made by `main`, started inside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from penstock.client.admin import Admin
from penstock.client.configs import Configs
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.schema_registry import SchemaRegistry
from penstock.rest.config import RestSettings
from penstock.rest.consumer import Consumer
from penstock.rest.errors import UNAVAILABLE, RestError, from_client
from penstock.rest.instances import Instances
from penstock.rest.producing import Producing
from penstock.rest.schema_codecs import make_codec
from penstock.rest.schema_records import SchemaRecords
from penstock.web import Call
from penstock.web.threads import Threads

T = TypeVar("T")
ADMIN_THREADS: Final = 16
GRACE_S: Final = 5.0
"""A call has its own deadline; this much later its caller no longer waits for it."""


class Proxy:
    def __init__(self, bootstrap_servers: str, settings: RestSettings) -> None:
        self.settings = settings
        self._bootstrap_servers = bootstrap_servers
        timeout_s = settings.request_timeout_s
        self.admin = Admin(
            bootstrap_servers, timeout_s=timeout_s, settings={**settings.client, **settings.admin}
        )
        self.groups = Groups(self.admin)
        self.configs = Configs(self.admin)
        url = settings.schema_registry_url
        registry = SchemaRegistry(url, timeout_seconds=timeout_s) if url else None
        self.schemas = SchemaRecords(registry, make_codec)
        self.producing: Producing
        self.instances: Instances
        self._threads: Threads
        self._cluster_id = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What needs the event loop lives inside."""
        self._threads = Threads(ADMIN_THREADS, "rest-admin")
        self.producing = Producing(self._bootstrap_servers, self.settings)
        self.instances = Instances(self._bootstrap_servers, self.settings)
        try:
            yield
        finally:
            await self.instances.close()
            await asyncio.to_thread(self.producing.close)

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

    async def cluster_id(self) -> str:
        """Asked once: a proxy serves one cluster, whose id does not change."""
        if not self._cluster_id:
            self._cluster_id = (await self.ask(self.admin.cluster)).cluster_id or ""
        return self._cluster_id

    async def with_instance(
        self, group: str, name: str, call: Callable[[Consumer], T], within_s: float = 0.0
    ) -> T:
        """The same with a consumer instance; `within_s` is what the call itself may wait."""
        try:
            return await self.instances.use(
                group, name, call, within_s + 2 * self.settings.request_timeout_s + GRACE_S
            )
        except ClientError as error:
            raise from_client(error) from error

    def url_of(self, call: Call) -> str:
        """What links begin with: the advertised URL, or how the client called the proxy."""
        if self.settings.advertised_url:
            return self.settings.advertised_url.rstrip("/")
        url = call.request.url
        return f"{url.scheme}://{url.netloc}"
