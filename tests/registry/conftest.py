"""One broker and one registry for the tests that only need subjects of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from penstock.testing import Broker
from tests.registry.processes import RegistryProcess

_numbers = count(1)


@pytest.fixture(scope="package")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="package")
def registry(broker: Broker) -> Iterator[RegistryProcess]:
    with RegistryProcess(broker.bootstrap_servers) as registry:
        yield registry


@pytest.fixture
def http(registry: RegistryProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=registry.url, timeout=20) as client:
        yield client


@pytest.fixture
def subject() -> str:
    """A name that no other test has."""
    return f"subject-{next(_numbers)}"
