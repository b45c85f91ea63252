"""A broker for the module, and topics of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing import Broker

_numbers = itertools.count()


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Broker(settings={"auto.create.topics.enable": "false"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topic_of(bootstrap: str) -> Callable[..., str]:
    def make(partitions: int = 1, **config: str) -> str:
        name = f"topic-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for future in admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values():
            future.result(10)
        return name

    return make


@pytest.fixture
def topic(topic_of: Callable[..., str]) -> str:
    return topic_of()


def poll_until(consumer: Any, count: int, seconds: float = 20.0) -> list[Any]:
    """All records of polls until there are so many."""
    import time

    deadline = time.monotonic() + seconds
    found: list[Any] = []
    while len(found) < count and time.monotonic() < deadline:
        found += consumer.poll(0.5)
    return found
