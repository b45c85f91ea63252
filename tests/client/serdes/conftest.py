"""A broker and a registry, real ones, for all tests of the serializers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from penstock.testing import Broker
from tests.registry.processes import RegistryProcess

_numbers = count()


@pytest.fixture(scope="package")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="package")
def registry_url(servers: str) -> Iterator[str]:
    with RegistryProcess(servers) as registry:
        yield registry.url


@pytest.fixture
def topic() -> str:
    return f"serdes-{next(_numbers)}"
