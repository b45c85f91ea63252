"""Chromium, a broker in this process, and the console as a process of its own.

Chromium is Debian's; where there is none the tests are skipped and say so. Playwright never downloads a
browser here.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from penstock.client.admin import Admin
from penstock.client.messages import Messages
from penstock.testing import Broker

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = {"width": 1280, "height": 800}
TIMEOUT_MS = 15_000


def chromium() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on the PATH; on Debian: apt-get install chromium")
    return path


@pytest.fixture(scope="package")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    executable, profile = chromium(), tmp_path_factory.mktemp("profile")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(profile), executable_path=executable, args=FLAGS, viewport=WIDE, color_scheme="light"
        )
        browser.set_default_timeout(TIMEOUT_MS)
        expect.set_options(timeout=TIMEOUT_MS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page, and what went on behind it."""

    page: Page
    base: str
    problems: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page


@pytest.fixture
def visit(context: BrowserContext, console: str) -> Iterator[Visit]:
    """A fresh page in the console's size; at its end nothing may have gone wrong in the browser."""
    page = context.new_page()
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    visit = Visit(page, console)
    page.on("pageerror", lambda error: visit.problems.append(str(error)))
    page.on("console", lambda said: _note(said, visit.problems))
    page.on("request", lambda request: visit.requested.append(request.url))
    yield visit
    page.evaluate("localStorage.clear()")
    page.close()
    assert visit.problems == []


def _note(said: Any, problems: list[str]) -> None:
    if said.type in ("error", "warning"):
        problems.append(said.text)


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that comes back on the same port with the same data when it is stopped and started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    listeners = {"listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    with Broker(str(tmp_path_factory.mktemp("data")), listeners) as broker:
        yield broker


@pytest.fixture(scope="package")
def registry(broker: Broker) -> Iterator[str]:
    """The address of a Schema Registry."""
    with started(
        "registry", "--listen", "127.0.0.1:0", "--bootstrap-servers", broker.bootstrap_servers
    ) as at:
        yield at if at.startswith("http") else f"http://{at}"


@pytest.fixture(scope="package")
def console(broker: Broker, registry: str) -> Iterator[str]:
    """The address of `penstock console` on a free port; Connect and SQL do not run."""
    nowhere = "http://127.0.0.1:9"
    addresses = ("--registry-url", registry, "--connect-url", nowhere, "--sql-url", nowhere)
    arguments = ("--listen", "127.0.0.1:0", "--bootstrap-servers", broker.bootstrap_servers)
    with started("console", *arguments, *addresses) as at:
        yield at


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """A service as a process of its own; what its ready line names."""
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), line
        yield line.split()[1]
        process.terminate()
        assert process.wait(timeout=30) == 0, "SIGTERM must be a clean end"
    finally:
        process.kill()
        process.wait(timeout=30)


@pytest.fixture(scope="package")
def admin(broker: Broker) -> Admin:
    return Admin(broker.bootstrap_servers)


@pytest.fixture(scope="package")
def messages(broker: Broker, admin: Admin) -> Messages:
    return Messages(broker.bootstrap_servers, admin=admin)


_numbers = count()


@pytest.fixture
def topic(admin: Admin) -> str:
    """A topic of the test's own, with three partitions."""
    name = f"browser-{next(_numbers)}"
    admin.create_topic(name, 3, 1)
    return name
