"""A search through ten million records: progress, first hits at once, a cancel within a second, and its rate.

Long form only; figures are printed: `pytest --long -s tests/console/test_search_scale.py`.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.client.admin import Admin
from penstock.client.api.producer import Producer
from penstock.console.client_backend import ClientBackend
from penstock.console.searching import SearchQuery
from tests.browser.test_scale import process

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

RECORDS, BATCH, PARTITIONS = 10_000_000, 100_000, 6
TOPIC = "ten-million"


def fill(bootstrap_servers: str) -> None:
    Admin(bootstrap_servers).create_topic(TOPIC, PARTITIONS, 1)
    with Producer({"bootstrap.servers": bootstrap_servers}) as producer:
        for first in range(0, RECORDS, BATCH):
            numbers = range(first, first + BATCH)
            values = pa.array(
                [b'{"number": %d, "status": "paid", "total": %d.5}' % (n, n % 997) for n in numbers]
            )
            keys = pa.array([b"order-%d" % n for n in numbers])
            producer.send_arrow(TOPIC, pa.record_batch({"key": keys, "value": values}))
        producer.flush()


def test_a_search_through_ten_million_records(tmp_path: Path) -> None:
    with process("broker", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")) as (servers, _):
        fill(servers)
        backend = ClientBackend(servers)
        for filter_text, hits in (("order-9999999", 1), ("value.number >= 9999990", 10)):
            asyncio.run(search(backend, filter_text, hits))
        asyncio.run(first_and_cancel(backend))


async def search(backend: ClientBackend, filter_text: str, hits: int) -> None:
    began = time.monotonic()
    found = await backend.search(SearchQuery(TOPIC, filter_text))
    looks = [0]
    count = 0
    while True:
        progress = await found.poll()
        looks.append(progress.scanned)
        count += len(progress.hits)
        if progress.done:
            break
    took = time.monotonic() - began
    await found.close()
    assert (progress.scanned, progress.total, count) == (RECORDS, RECORDS, hits)
    assert looks == sorted(looks)
    print(f"{filter_text!r}: {RECORDS / took:,.0f} records/s, {took:.1f} s, {len(looks)} looks")


async def first_and_cancel(backend: ClientBackend) -> None:
    began = time.monotonic()
    found = await backend.search(SearchQuery(TOPIC, "value.total = 0.5"))
    while not (await found.poll()).hits:
        pass
    first = time.monotonic() - began
    looking = asyncio.create_task(found.poll())
    await asyncio.sleep(0.05)
    began = time.monotonic()
    looking.cancel()
    await found.close()
    closed = time.monotonic() - began
    print(f"first hit after {first:.2f} s, cancelled in {closed:.2f} s")
    assert closed < 1.0
