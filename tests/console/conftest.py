"""A fake cluster, and a browser without a browser: NiceGUI's simulated user on the console's real pages."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nicegui.testing import User, user_simulation

from penstock.console.alert_store import MemoryStore
from penstock.console.fake_backend import FakeBackend
from penstock.console.remotes import Addresses, Remotes
from penstock.console.services import Services
from penstock.console.shell import shell
from tests.console.fake_services import FakeServices

POLL_S = 0.02
DEADLINE_S = 10.0


@pytest.fixture(scope="package", autouse=True)
def frozen_garbage() -> Iterator[None]:
    """The simulation collects garbage twice for each test: what was imported before need not be looked at
    again.
    """
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def backend() -> FakeBackend:
    """Three topics, one of them internal; `orders` has messages of several kinds."""
    fake = FakeBackend()
    fake.add_topic("orders", 3)
    fake.add_topic("payments", 1, {"cleanup.policy": "compact"})
    fake.add_topic("__consumer_offsets", 4)
    for i in range(6):
        fake.append("orders", b'{"order": %d}' % i, b"key-%d" % i, partition=i % 3)
    return fake


@pytest.fixture
def others() -> FakeServices:
    """The registry, Connect and SQL."""
    return FakeServices()


class Visitor:
    """What a test does with the console: open pages, wait for a condition, find a component."""

    def __init__(self, user: User, services: Services) -> None:
        self.user = user
        self.services = services

    async def open(self, path: str) -> None:
        await self.user.open(path)

    async def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not _holds(condition):
            assert time.monotonic() < deadline, "the condition did not come true"
            await asyncio.sleep(0.01)

    def the(self, kind: type) -> Any:
        """The only element of a kind."""
        (found,) = self.user.find(kind).elements
        return found

    def marked(self, marker: str) -> Any:
        (found,) = self.user.find(marker=marker).elements
        return found

    def text(self, marker: str) -> str:
        return str(self.marked(marker).text)

    def click(self, marker: str) -> None:
        self.user.find(marker=marker).click()

    def write(self, marker: str, text: str) -> None:
        self.marked(marker).value = text


def _holds(condition: Callable[[], object]) -> bool:
    """An element that is not shown yet cannot be found: then it does not hold."""
    try:
        return bool(condition())
    except (AssertionError, ValueError):
        return False


Body = Callable[[Visitor], Awaitable[None]]
Visit = Callable[[str, Body], None]


def fake_services_over(
    backend: FakeBackend, others: FakeServices, store: MemoryStore | None = None
) -> Services:
    remotes = Remotes.at(Addresses(), others.transport())
    return Services.over(backend, remotes=remotes, store=store, poll_s=POLL_S, tick_s=POLL_S)


@asynccontextmanager
async def visiting(backend: FakeBackend, others: FakeServices, path: str) -> AsyncIterator[Visitor]:
    services = fake_services_over(backend, others)
    async with user_simulation(lambda: shell(services)) as user:
        try:
            await user.open(path)
            yield Visitor(user, services)
        finally:
            await services.close()


@pytest.fixture
def visit(backend: FakeBackend, others: FakeServices) -> Visit:
    """Opens a page of the console over `backend` and runs a coroutine function with a visitor there."""

    def run(path: str, body: Body) -> None:
        async def scenario() -> None:
            async with visiting(backend, others, path) as visitor:
                await body(visitor)

        asyncio.run(scenario())

    return run
