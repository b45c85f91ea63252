"""`Clients`: the Kafka clients with which the proxy acts for one caller, and the bounded table of them.

With a door that asks who the caller is, every caller has clients of its own, made with the caller's
credentials: the broker's access control entries decide, and the proxy's own rights never matter. Clients that
nobody has used for a while are closed. Called by the routes, through `Proxy.clients`.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Final

from penstock.client.acls import Acls
from penstock.client.admin import Admin
from penstock.client.configs import Configs
from penstock.client.groups import Groups
from penstock.client.schema_registry import SchemaRegistry, basic
from penstock.client.secured import acting_as
from penstock.client.share_groups import ShareGroups
from penstock.rest.config import CALLER_IDLE_S, CALLERS_MAX, RestSettings
from penstock.rest.producing import Producing
from penstock.rest.schema_codecs import make_codec
from penstock.rest.schema_records import SchemaRecords
from penstock.security.client_settings import Sasl

_LOOK_S: Final = 1.0


class Clients:
    """Each is made when it is first needed, in the event loop."""

    def __init__(self, bootstrap_servers: str, settings: RestSettings, authorization: str = "") -> None:
        self.bootstrap_servers = bootstrap_servers
        self.settings = settings
        self._authorization = authorization
        self._producing: Producing | None = None

    @cached_property
    def admin(self) -> Admin:
        own = {**self.settings.client, **self.settings.admin}
        return Admin(self.bootstrap_servers, timeout_s=self.settings.request_timeout_s, settings=own)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self.admin)

    @cached_property
    def share_groups(self) -> ShareGroups:
        return ShareGroups(self.admin.connection)

    @cached_property
    def configs(self) -> Configs:
        return Configs(self.admin)

    @cached_property
    def acls(self) -> Acls:
        return Acls(self.admin)

    @cached_property
    def schemas(self) -> SchemaRecords:
        url = self.settings.schema_registry_url
        if not url:
            return SchemaRecords(None, make_codec)
        registry = SchemaRegistry(
            url,
            timeout_seconds=self.settings.request_timeout_s,
            authorization=self._authorization or self.settings.registry_authorization,
            tls=self.settings.registry_tls,
        )
        return SchemaRecords(registry, make_codec)

    @property
    def producing(self) -> Producing:
        if self._producing is None:
            self._producing = Producing(self.bootstrap_servers, self.settings)
        return self._producing

    def close(self) -> None:
        """Blocks until what was accepted is acknowledged, or has failed."""
        if self._producing is not None:
            self._producing.close()


class CallersClients:
    """The clients of each caller. Made and used in a running event loop."""

    def __init__(
        self, bootstrap_servers: str, settings: RestSettings, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._settings = settings
        self._now = now
        self._kept: OrderedDict[Sasl, tuple[float, Clients]] = OrderedDict()
        """When they were used last, the one that was used longest ago first."""
        self._closing: set[asyncio.Task[None]] = set()
        self._expiry = asyncio.create_task(self._expire(), name="rest-callers-expiry")

    def of(self, sasl: Sasl) -> Clients:
        kept = self._kept.pop(sasl, None)
        clients = kept[1] if kept is not None else self._made(sasl)
        self._kept[sasl] = self._now(), clients
        while len(self._kept) > CALLERS_MAX:
            self._end(next(iter(self._kept)))
        return clients

    async def close(self) -> None:
        self._expiry.cancel()
        for sasl in list(self._kept):
            self._end(sasl)
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * self._settings.request_timeout_s):
                await asyncio.gather(*self._closing)

    def _made(self, sasl: Sasl) -> Clients:
        token = "" if sasl.login is None else sasl.login.token
        authorization = f"Bearer {token}" if token else basic(sasl.username, sasl.password)
        return Clients(self._bootstrap_servers, settings_for(self._settings, sasl), authorization)

    def _end(self, sasl: Sasl) -> None:
        _, clients = self._kept.pop(sasl)
        task = asyncio.create_task(asyncio.to_thread(clients.close))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            before = self._now() - CALLER_IDLE_S
            for sasl in [sasl for sasl, (used, _) in self._kept.items() if used < before]:
                self._end(sasl)


def settings_for(settings: RestSettings, sasl: Sasl) -> RestSettings:
    """The settings with the caller's credentials, and with none of the proxy's own."""
    return replace(
        settings,
        client=acting_as(settings.client, sasl),
        admin=_without_proof(settings.admin),
        producer=_without_proof(settings.producer),
        consumer=_without_proof(settings.consumer),
    )


def _without_proof(texts: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in texts.items()
        if not name.startswith("sasl.") and name != "security.protocol"
    }
