"""One broker and one proxy for all tests here; each test makes topics and groups of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from penstock.client.admin import Admin
from penstock.client.messages import Messages
from tests.rest.proxies import Proxy, running_proxy

numbers = count()


@pytest.fixture(scope="package")
def bootstrap_servers() -> Iterator[str]:
    from penstock.testing import Broker

    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="package")
def admin(bootstrap_servers: str) -> Admin:
    return Admin(bootstrap_servers)


@pytest.fixture(scope="package")
def messages(bootstrap_servers: str, admin: Admin) -> Messages:
    return Messages(bootstrap_servers, admin=admin)


@pytest.fixture(scope="package")
def proxy(bootstrap_servers: str) -> Iterator[Proxy]:
    with running_proxy(bootstrap_servers, consumer_instances_max="20") as running:
        yield running


@pytest.fixture
def new_topic(admin: Admin) -> Callable[..., str]:
    def create(partitions: int = 1) -> str:
        name = f"rest-{next(numbers)}"
        admin.create_topic(name, partitions, 1)
        return name

    return create


@pytest.fixture
def group() -> str:
    return f"group-{next(numbers)}"
