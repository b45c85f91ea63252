"""One broker and one server for most tests here; each test makes streams and topics of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.sqlserver.servers import Server, running_server

numbers = count()


@pytest.fixture(scope="package")
def bootstrap_servers() -> Iterator[str]:
    from penstock.testing import Broker

    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="package")
def server(bootstrap_servers: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    state = tmp_path_factory.mktemp("sql-state")
    with running_server(bootstrap_servers, ksql_streams_state_dir=str(state)) as running:
        yield running


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"N{next(numbers)}"
