"""A broker, and a registry, for all examples of the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.testing import Broker
from tests.registry.processes import RegistryProcess


@pytest.fixture(scope="package")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="package")
def registry_url(servers: str) -> Iterator[str]:
    with RegistryProcess(servers) as registry:
        yield registry.url
