"""One broker for all compatibility tests, and topics that nobody else uses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker


@pytest.fixture(scope="session")
def servers() -> Iterator[str]:
    """Where the broker listens."""
    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def topic(servers: str, _numbers: Iterator[int], request: pytest.FixtureRequest) -> Callable[[int], str]:
    """`topic(partitions)` makes a new topic and gives its name."""
    admin = AdminClient({"bootstrap.servers": servers})

    def make(partitions: int = 1) -> str:
        name = f"{request.node.originalname.replace('_', '-')[:80]}-{next(_numbers)}"
        admin.create_topics([NewTopic(name, partitions)])[name].result(10)
        return name

    return make
