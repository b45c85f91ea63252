"""Two brokers to be a client of: ours in the process, and Apache's. A test with `servers` runs on both.

Import the fixtures into the conftest of the area that wants them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker
from penstock.wire.cluster import Cluster
from tests.peers.apache_kafka import apache_kafka as apache_kafka

NewTopicMaker = Callable[..., str]

_numbers = count()


@pytest.fixture(scope="session")
def penstock_servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture(params=["penstock", "apache"])
def servers(request: pytest.FixtureRequest) -> str:
    if request.param == "penstock":
        return str(request.getfixturevalue("penstock_servers"))
    return str(request.getfixturevalue("apache_kafka").bootstrap_servers)


@pytest.fixture
def cluster(servers: str) -> Iterator[Cluster]:
    cluster = Cluster(servers)
    yield cluster
    cluster.close()


@pytest.fixture
def new_topic(servers: str) -> NewTopicMaker:
    """Creates a topic with a name that no other test uses; settings are written with underscores."""

    def create(partitions: int = 1, **settings: str) -> str:
        name = f"topic-{next(_numbers)}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        admin = AdminClient({"bootstrap.servers": servers})
        futures = admin.create_topics([NewTopic(name, partitions, 1, config=config)])
        futures[name].result(timeout=20)
        _wait_visible(admin, name, partitions)
        return name

    return create


def _wait_visible(admin: AdminClient, name: str, partitions: int) -> None:
    """A topic that Apache Kafka has created is in the broker's metadata a moment later."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        topic = admin.list_topics(timeout=10).topics.get(name)
        if topic is not None and sum(p.leader >= 0 for p in topic.partitions.values()) == partitions:
            return
    raise AssertionError(f"{name} was created and is not in the metadata")
