"""A broker for the module, and topics of its own for each test: Penstock's broker, and with `--apache` Apache
Kafka's, too."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from tests.peers.apache_kafka import ApacheKafka

_numbers = itertools.count()
SETTINGS = {
    "auto.create.topics.enable": "false",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "group.min.session.timeout.ms": "500",
}


OF_ONE_NODE = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bootstrap" in metafunc.fixturenames:
        brokers = ["penstock", "apache"] if metafunc.config.getoption("--apache") else ["penstock"]
        metafunc.parametrize("bootstrap", brokers, indirect=True, scope="module")


@pytest.fixture(scope="session")
def apache_servers() -> Iterator[str]:
    with ApacheKafka({**SETTINGS, **OF_ONE_NODE}) as node:
        yield node.bootstrap_servers


@pytest.fixture(scope="module")
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "apache":
        yield request.getfixturevalue("apache_servers")
        return
    with Broker(settings=SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def on_apache(request: pytest.FixtureRequest) -> bool:
    return bool(request.node.callspec.params["bootstrap"] == "apache")


@pytest.fixture
def topic_of(bootstrap: str) -> Callable[..., str]:
    def make(partitions: int = 1, **config: str) -> str:
        name = f"topic-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for future in admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values():
            future.result(10)
        _wait_visible(admin, name, partitions)
        return name

    return make


@pytest.fixture
def topic(topic_of: Callable[..., str]) -> str:
    return topic_of()


def poll_until(consumer: Any, count: int, seconds: float = 20.0) -> list[Any]:
    """All records of polls until there are so many."""
    deadline = time.monotonic() + seconds
    found: list[Any] = []
    while len(found) < count and time.monotonic() < deadline:
        found += consumer.poll(0.5)
    return found


def _wait_visible(admin: AdminClient, name: str, partitions: int) -> None:
    """A topic that Apache Kafka has created is in the broker's metadata a moment later."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        topic = admin.list_topics(timeout=10).topics.get(name)
        if topic is not None and sum(each.leader >= 0 for each in topic.partitions.values()) == partitions:
            return
    raise AssertionError(f"{name} was created and is not in the metadata")
