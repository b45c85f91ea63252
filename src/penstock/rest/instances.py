"""Consumer instances by principal, group and name: a bounded table, one request at a time for each, expiry.

The table is pure; `Instances` adds the event loop around it: a lock for each instance, a bounded number of
threads for the blocking calls, and a task that closes what nobody has used for a while. Called by the
version-2 consumer routes.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.rest.config import RestSettings
from penstock.rest.consumer import Consumer, InstanceSettings
from penstock.rest.errors import INSTANCE_EXISTS, INSTANCE_NOT_FOUND, TOO_MANY, UNAVAILABLE, RestError
from penstock.web.threads import Threads

_log = logging.getLogger(__name__)
T = TypeVar("T")
Key = tuple[str, str, str]
"""Principal, group and name."""

CLOSE_WITHIN_S = 10.0


@dataclass(slots=True)
class Instance:
    """One row. `consumer` is None while it is being made."""

    expires_at: float
    consumer: Consumer | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the request that uses the consumer."""
    waiting: int = 0
    """Requests that use it or wait to; it does not expire under them."""


class InstanceTable:
    """The instances of this proxy. Names are unique within a group of a principal."""

    def __init__(self, most: int, timeout_s: float) -> None:
        self._most = most
        self._timeout_s = timeout_s
        self._rows: dict[Key, Instance] = {}

    def reserve(self, key: Key, now: float) -> Instance:
        """A row for an instance that is about to be made."""
        if key in self._rows:
            raise RestError(
                INSTANCE_EXISTS,
                "Consumer with specified consumer ID already exists in the specified consumer group.",
            )
        if len(self._rows) >= self._most:
            raise RestError(
                TOO_MANY,
                f"This proxy has {self._most} consumer instances already, which is the most it may have. "
                "Delete those that are not needed, or raise consumer.instances.max.",
            )
        self._rows[key] = Instance(now + self._timeout_s)
        return self._rows[key]

    def find(self, key: Key) -> Instance:
        row = self._rows.get(key)
        if row is None or row.consumer is None:
            raise RestError(
                INSTANCE_NOT_FOUND,
                "Consumer instance not found. An instance lives in the memory of the proxy that its base_uri "
                "names, until it expires or the proxy ends. Create it again: what its group has committed is "
                "kept.",
            )
        return row

    def touch(self, row: Instance, now: float) -> None:
        row.expires_at = now + self._timeout_s

    def remove(self, key: Key) -> None:
        self._rows.pop(key, None)

    def expired(self, now: float) -> list[Key]:
        return [
            key
            for key, row in self._rows.items()
            if row.consumer is not None and not row.waiting and row.expires_at <= now
        ]

    def keys(self) -> list[Key]:
        return list(self._rows)


class Instances:
    """Made and used in a running event loop."""

    def __init__(self, bootstrap_servers: str, settings: RestSettings) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._settings = settings
        self._table = InstanceTable(
            settings.consumer_instances_max, settings.consumer_instance_timeout_ms / 1000
        )
        self._threads = Threads(settings.consumer_threads, "rest-consumer")
        self._expiry = asyncio.create_task(self._expire(), name="rest-consumer-expiry")

    def new_name(self) -> str:
        own = f"{self._settings.id}-" if self._settings.id else ""
        return f"rest-consumer-{own}{uuid.uuid4()}"

    async def create(self, principal: str, own: InstanceSettings, settings: RestSettings) -> None:
        """`settings` hold the credentials of the principal."""
        key = (principal, own.group, own.name)
        row = self._table.reserve(key, time.monotonic())
        try:
            row.consumer = await self._threads.call(Consumer, self._bootstrap_servers, own, settings)
        except BaseException:
            self._table.remove(key)
            raise

    def settings_of(self, key: Key) -> InstanceSettings:
        consumer = self._table.find(key).consumer
        assert consumer is not None
        return consumer.own

    async def use(self, key: Key, call: Callable[[Consumer], T], within_s: float) -> T:
        """Calls with the instance in a thread, when those before have ended. 503 past the deadline."""
        row = self._table.find(key)
        row.waiting += 1
        try:
            async with asyncio.timeout(within_s):
                # A client that goes away leaves its call behind, and the lock stays with the call.
                return await asyncio.shield(self._locked(key, row, call))
        except TimeoutError as error:
            raise RestError(
                UNAVAILABLE, f"Consumer instance {key[2]!r:.80} did not come to it within {within_s:g} s."
            ) from error
        finally:
            row.waiting -= 1
            self._table.touch(row, time.monotonic())

    async def delete(self, key: Key) -> None:
        await self._close(key)

    async def close(self) -> None:
        """Closes them all, as many at a time as there are threads."""
        self._expiry.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await asyncio.gather(*map(self._close_quietly, self._table.keys()))

    async def _locked(self, key: Key, row: Instance, call: Callable[[Consumer], T]) -> T:
        async with row.lock:
            consumer = self._table.find(key).consumer  # it may be gone by now
            assert consumer is not None
            return await self._threads.call(call, consumer)

    async def _expire(self) -> None:
        interval_s = min(1.0, self._settings.consumer_instance_timeout_ms / 4000)
        while True:
            await asyncio.sleep(interval_s)
            for key in self._table.expired(time.monotonic()):
                _log.info("consumer instance %s of group %s has expired", key[2], key[1])
                await self._close_quietly(key)

    async def _close_quietly(self, key: Key) -> None:
        try:
            await self._close(key)
        except Exception:
            _log.warning("consumer instance %s of group %s did not close", key[2], key[1], exc_info=True)

    async def _close(self, key: Key) -> None:
        row = self._table.find(key)
        assert row.consumer is not None
        row.consumer.stopping = True
        self._table.remove(key)
        async with asyncio.timeout(CLOSE_WITHIN_S), row.lock:
            await self._threads.call(row.consumer.close)
