"""One broker and one server for most tests here; each test makes streams and topics of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.registry.processes import RegistryProcess
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


@pytest.fixture(scope="package")
def cluster() -> Iterator[tuple[str, str]]:
    """Addresses of a broker that keeps records of 1970, and of its registry."""
    from penstock.testing import Broker

    settings = {"log.retention.ms": "-1", "group.initial.rebalance.delay.ms": "0"}
    settings["log.cleaner.enable"] = "false"  # tables are compared with every update that they had
    with Broker(settings=settings) as broker, RegistryProcess(broker.bootstrap_servers) as registry:
        yield broker.bootstrap_servers, registry.url


@pytest.fixture(scope="package")
def spark_server(cluster: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for persistent queries, which emit every update, as the driver of the cases does."""
    state = str(tmp_path_factory.mktemp("sql-spark"))
    options = [f"--set=ksql.schema.registry.url={cluster[1]}", f"--set=ksql.streams.state.dir={state}"]
    options.append("--set=ksql.streams.statestore.cache.max.bytes=0")
    with running_server(cluster[0], *options) as server:
        yield server


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"N{next(numbers)}"
