"""The console over 1,000 topics, 10,000 partitions and 500 groups: how soon pages are useful, what it costs.

Long form only. Broker and console are processes of their own, so that the CPU and memory of each can be read.
Figures are printed; run it with `pytest --long -s tests/browser/test_scale.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from playwright.sync_api import BrowserContext, expect

from penstock.client.admin import Admin
from penstock.client.groups import Groups

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

TOPICS, PARTITIONS, GROUPS, BROWSERS = 1_000, 10, 500, 20
MEASURED_S = 30.0
USEFUL_S = 2.0
MEMORY_MB = 300.0
CORE_SHARE = 0.25
PAGES = {
    "/": "Overview",
    "/topics": "Topics",
    "/topics/topic-0500": "topic-0500",
    "/topics/topic-0500/partitions": "topic-0500",
    "/topics/topic-0500/readers": "topic-0500",
    "/groups": "Groups",
    "/groups/group-250": "group-250",
    "/brokers": "Brokers",
    "/pipelines": "Pipelines",
    "/alerts": "Alerts",
}
LINES = {"/topics": ".line", "/groups": ".line", "/pipelines": ".line", "/groups/group-250": ".line"}
"""Pages that are useful once a line of their table is there."""


@contextmanager
def process(*arguments: str) -> Iterator[tuple[str, int]]:
    """What its ready line names, and its id."""
    command = [sys.executable, "-m", "penstock", *arguments]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        line = running.stdout.readline()
        assert line.startswith("ready "), line
        yield line.split()[1], running.pid
    finally:
        running.terminate()
        running.wait(timeout=60)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def share(pid: int, seconds: float) -> float:
    """Of one core."""
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began)


def fill(bootstrap_servers: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap_servers})
    for first in range(0, TOPICS, 100):
        new = [NewTopic(f"topic-{number:04}", PARTITIONS, 1) for number in range(first, first + 100)]
        for future in client.create_topics(new, operation_timeout=120).values():
            future.result(120)
    groups = Groups(Admin(bootstrap_servers, timeout_s=60))
    for number in range(GROUPS):
        at = {(f"topic-{2 * number:04}", partition): 0 for partition in range(PARTITIONS)}
        groups.set_offsets(f"group-{number:03}", at)


def test_a_thousand_topics_and_twenty_browsers(context: BrowserContext, tmp_path: Path) -> None:
    with process("broker", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")) as (
        servers,
        broker_pid,
    ):
        fill(servers)
        idle = share(broker_pid, 10)
        nowhere = ("--registry-url", "http://127.0.0.1:9", "--connect-url", "http://127.0.0.1:9",
                   "--sql-url", "http://127.0.0.1:9")  # fmt: skip
        where = ("--listen", "127.0.0.1:0", "--bootstrap-servers", servers)
        with process("console", *where, *nowhere) as (base, pid):
            time.sleep(10)  # its own looks have begun
            times = {path: useful_after(context, base, path) for path in PAGES}
            open_pages = [context.new_page() for _ in range(BROWSERS)]
            for number, page in enumerate(open_pages):
                page.goto(base + list(PAGES)[number % len(PAGES)])
            time.sleep(10)
            console, broker = share(pid, MEASURED_S), share(broker_pid, MEASURED_S)
            memory = memory_mb(pid)
            for page in open_pages:
                page.close()
    for path, seconds in times.items():
        print(f"{path:35} {seconds:5.2f} s")
    print(f"console: {console:.2f} of a core, {memory:.0f} MB, with {BROWSERS} pages open")
    print(f"broker: {broker:.2f} of a core with them, {idle:.2f} without a console")
    assert max(times.values()) < USEFUL_S, times
    assert memory < MEMORY_MB
    assert console < CORE_SHARE


def useful_after(context: BrowserContext, base: str, path: str) -> float:
    """Seconds until its heading, and the first line of its table, are there."""
    page = context.new_page()
    began = time.monotonic()
    page.goto(base + path)
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[path])
    if path in LINES:
        expect(page.locator(LINES[path]).first).to_be_visible()
    took = time.monotonic() - began
    page.close()
    return took
