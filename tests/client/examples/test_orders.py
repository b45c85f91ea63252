"""The shop: all its services together decide every order, once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.client import Consumer, TopicPartition
from penstock.console.client_backend import ClientBackend
from penstock.testing import Broker


@pytest.mark.timeout(300)
def test_the_shop_decides_every_order_once(tmp_path: Path) -> None:
    with Broker() as broker:
        servers = broker.bootstrap_servers
        index = tmp_path / "index.db"
        command = [sys.executable, "-m", "penstock", "example", "orders", "--bootstrap-servers", servers]
        command += ["--", str(index), "once"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)
        states = dict(line.split() for line in done.stdout.splitlines() if line.startswith("o-"))
        assert states == {
            "o-1": "VALIDATED",
            "o-2": "VALIDATED",
            "o-3": "FAILED",
            "o-4": "FAILED",
            "o-5": "FAILED",
            "o-6": "FAILED",
            "o-7": "VALIDATED",
        }
        reading = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
        with Consumer({**reading, "isolation.level": "read_committed"}) as consumer:
            consumer.assign([TopicPartition("orders", 0)])
            (end,) = consumer.end_offsets([TopicPartition("orders", 0)]).values()
            decided: list[str] = []
            while consumer.position(TopicPartition("orders", 0)) < end:
                for record in consumer.poll(1):
                    order = json.loads(record.value)
                    decided += [order["id"]] if order["state"] != "CREATED" else []
        assert sorted(decided) == sorted(states)
        topics, groups = asyncio.run(shown_by_the_console(servers))
        assert {"orders", "order-validations"} <= topics
        assert {"fraud", "inventory", "details", "aggregator", "mailer"} <= groups


async def shown_by_the_console(servers: str) -> tuple[set[str], set[str]]:
    """The topics and groups that the console has from this cluster."""
    backend = ClientBackend(servers)
    snapshot, now = await backend.snapshot(), await backend.groups()
    await backend.close()
    return {topic.name for topic in snapshot.topics}, {group.group_id for group in now.groups}
