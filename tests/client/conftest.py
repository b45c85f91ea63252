"""One broker in this process for all tests of the client; each test makes topics of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from penstock.client.admin import Admin
from penstock.client.messages import Messages

TIMEOUT_S = 10.0


@pytest.fixture(scope="package")
def bootstrap_servers() -> Iterator[str]:
    from penstock.testing import Broker

    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="package")
def admin(bootstrap_servers: str) -> Admin:
    return Admin(bootstrap_servers, timeout_s=TIMEOUT_S)


@pytest.fixture(scope="package")
def messages(bootstrap_servers: str, admin: Admin) -> Messages:
    return Messages(bootstrap_servers, timeout_s=TIMEOUT_S, admin=admin)


@pytest.fixture(scope="package")
def numbers() -> Iterator[int]:
    return count()


@pytest.fixture
def new_topic(admin: Admin, numbers: Iterator[int]) -> Callable[..., str]:
    """Creates a topic with a fresh name and returns the name."""

    def create(partitions: int = 1, **configs: str) -> str:
        name = f"client-{next(numbers)}"
        admin.create_topic(
            name, partitions, 1, {key.replace("_", "."): value for key, value in configs.items()}
        )
        return name

    return create
