"""Each rule of alerts over a real cluster: it fires by a real cause and clears when the cause is gone.

A consumer that stops, a topic that falls silent and refused requests are tried with a broker in this process.
A killed broker, a full disk and a pipeline that fails need processes, and have only a long form.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, Producer

from penstock.client.admin import Admin
from penstock.console.alert_engine import Event
from penstock.console.alert_rules import Rule
from penstock.console.client_backend import ClientBackend
from penstock.console.observing import observe
from penstock.console.remotes import Addresses, Remotes
from penstock.console.services import Services
from penstock.testing import Broker
from penstock.testing.cluster import Cluster
from penstock.testing.cluster.volume import Volume

DEADLINE_S = 120.0
LONG_DEADLINE_S = 300.0
NOWHERE = "http://127.0.0.1:9"


class Watch:
    """One rule over a real cluster, looked at again and again until it fires or clears."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def until(self, rule: Rule, *, fires: bool, meanwhile: Callable[[], object] | None = None) -> Event:
        """`meanwhile` happens before each look."""
        deadline = time.monotonic() + LONG_DEADLINE_S
        while time.monotonic() < deadline:
            if meanwhile is not None:
                await asyncio.to_thread(meanwhile)
            seen = await observe(self._services, 0.0)
            for event in await self._services.alerts.step(seen, time.time()):
                if event.rule == rule.name and (event.cleared_at is None) == fires:
                    return event
            await asyncio.sleep(0.1)
        raise AssertionError(f"{rule.name} did not {'fire' if fires else 'clear'}")


def watching(
    bootstrap_servers: str, rule: Rule, body: Callable[[Watch], Awaitable[None]], **addresses: Any
) -> None:
    async def work() -> None:
        places = Addresses(**{"registry": NOWHERE, "connect": NOWHERE, "sql": NOWHERE, **addresses})
        services = Services.over(ClientBackend(bootstrap_servers), remotes=Remotes.at(places), poll_s=0.1)
        try:
            await services.alerts.save(rule)
            await body(Watch(services))
        finally:
            await services.close()

    asyncio.run(work())


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"metrics.listener": "127.0.0.1:0"}) as broker:
        yield broker


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Admin:
    return Admin(broker.bootstrap_servers)


def produce(broker: Broker, topic: str, count: int = 1, value: bytes = b"v") -> list[Any]:
    """Errors of the records that were refused."""
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})

    def reported(error: Any, _message: Any) -> None:
        if error is not None:
            errors.append(error)

    for _ in range(count):
        producer.produce(topic, value, partition=0, on_delivery=reported)
    assert producer.flush(DEADLINE_S) == 0
    return errors


def read_all(bootstrap_servers: str, group: str, topic: str, count: int) -> None:
    """A consumer that reads so many records, commits and goes."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest",
         "enable.auto.commit": False}
    )  # fmt: skip
    consumer.subscribe([topic])
    read = 0
    deadline = time.monotonic() + DEADLINE_S
    while read < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        read += message is not None and message.error() is None
    assert read == count
    consumer.commit(asynchronous=False)
    consumer.close()


@pytest.mark.parametrize(
    "rule", [Rule("late", "lag", "billing-*", 2), Rule("slow", "lag_time", "billing-*", 0.2)]
)
def test_a_consumer_that_stopped_and_comes_back(broker: Broker, admin: Admin, rule: Rule) -> None:
    topic, group = f"orders-{rule.kind}", f"billing-{rule.kind}"
    admin.create_topic(topic, 1, 1)
    produce(broker, topic)
    read_all(broker.bootstrap_servers, group, topic, 1)

    async def body(watch: Watch) -> None:
        await observe(watch._services, 0.0)  # the console has seen where the group was
        produce(broker, topic, 5)
        fired = await watch.until(rule, fires=True)
        assert fired.subject == group
        await asyncio.to_thread(read_all, broker.bootstrap_servers, group, topic, 5)
        await watch.until(rule, fires=False)

    watching(broker.bootstrap_servers, rule, body)


def test_a_topic_that_falls_silent_and_gets_data_again(broker: Broker, admin: Admin) -> None:
    admin.create_topic("pulse", 1, 1)
    rule = Rule("silent", "no_data", "pulse", 0)

    async def body(watch: Watch) -> None:
        fired = await watch.until(rule, fires=True)
        assert "pulse" in fired.sentence
        await watch.until(rule, fires=False, meanwhile=lambda: produce(broker, "pulse"))

    watching(broker.bootstrap_servers, rule, body)


def test_requests_that_are_refused_and_end(broker: Broker, admin: Admin) -> None:
    admin.create_topic("narrow", 1, 1, {"max.message.bytes": "200"})
    rule = Rule("refused", "errors", "*", 0)
    refused: list[Any] = []

    def too_large() -> None:
        refused.extend(produce(broker, "narrow", 1, b"x" * 5_000))

    async def body(watch: Watch) -> None:
        fired = await watch.until(rule, fires=True, meanwhile=too_large)
        assert "refused" in fired.sentence
        await watch.until(rule, fires=False)

    metrics = (f"http://{broker.metrics_address}/metrics",)
    watching(broker.bootstrap_servers, rule, body, metrics=metrics)
    assert refused


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_broker_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    settings = {"replica.lag.time.max.ms": "5000", "broker.session.timeout.ms": "6000"}
    with Cluster(tmp_path, settings=settings) as cluster:
        cluster.create_topic("copied", partitions=3)
        cluster.wait_in_sync("copied")
        rule = Rule("copies", "under_replication", "copied", 0)

        async def body(watch: Watch) -> None:
            await asyncio.to_thread(cluster.brokers[2].kill)
            fired = await watch.until(rule, fires=True)
            assert fired.sentence.endswith("with too few copies")
            await asyncio.to_thread(cluster.brokers[2].start)
            await watch.until(rule, fires=False)

        watching(cluster.bootstrap_servers, rule, body)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_disk_that_fills_and_is_emptied(tmp_path: Path) -> None:
    reason = Volume.why_not()
    assert reason is None, f"this machine mounts no disk for the test: {reason}"
    with Volume(tmp_path / "disk", 128) as volume, Broker(str(volume.mount_point / "logs")) as broker:
        rule = Rule("full", "disk", "*", 60)
        filler = volume.mount_point / "something-else"

        async def body(watch: Watch) -> None:
            filler.write_bytes(b"x" * (80 << 20))
            fired = await watch.until(rule, fires=True)
            assert "% full" in fired.sentence
            filler.unlink()
            await watch.until(rule, fires=False)

        watching(broker.bootstrap_servers, rule, body)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_connector_that_fails_and_is_mended(tmp_path: Path) -> None:
    """A sink meets a record that is not JSON, and stops; told to tolerate it, it runs again."""
    from tests.browser.conftest import started

    with Broker() as broker:
        produce(broker, "lines", 1, b"this is no JSON")
        options = (
            "--bootstrap-servers",
            broker.bootstrap_servers,
            "--set",
            f"penstock.allowed.paths={tmp_path}",
        )
        with started("connect", "--listen", "127.0.0.1:0", *options) as at:
            url = at if at.startswith("http") else f"http://{at}"
            config = {
                "connector.class": "FileStreamSink",
                "topics": "lines",
                "file": str(tmp_path / "out.txt"),
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                "consumer.override.auto.offset.reset": "earliest",
            }
            place = f"{url}/connectors/to-file/config"
            httpx.put(place, json=config, timeout=60).raise_for_status()
            rule = Rule("failed", "failed_pipeline", "*")

            async def body(watch: Watch) -> None:
                fired = await watch.until(rule, fires=True)
                assert fired.subject == "to-file"
                mended = config | {"errors.tolerance": "all"}
                httpx.put(place, json=mended, timeout=60).raise_for_status()
                await watch.until(rule, fires=False)

            watching(broker.bootstrap_servers, rule, body, connect=url)
