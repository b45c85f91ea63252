"""One broker and one worker for all tests of connectors; a test that kills has its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.testing.broker import Broker
from tests.connectors.servers import MariaDb, Postgres
from tests.connectors.worker import Worker


@pytest.fixture(scope="package")
def broker() -> Iterator[Broker]:
    with Broker(settings={"group.min.session.timeout.ms": "1000"}) as running:
        yield running


@pytest.fixture(scope="package")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which connectors may open files."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="package")
def worker(broker: Broker, files: Path) -> Iterator[Worker]:
    running = Worker(broker.bootstrap_servers, str(files), group_id="shared").start()
    yield running
    assert running.stop() == 0, "".join(running.lines)[-3000:]


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server.start()
    server.close()


@pytest.fixture(scope="package")
def mariadb() -> Iterator[MariaDb]:
    server = MariaDb()
    yield server.start()
    server.close()
