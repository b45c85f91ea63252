"""A mirror in both directions between Penstock (A) and Apache Kafka (B), one for all tests of this area."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.testing import Broker
from tests.mirroring.rig import Client, Mirror, write_config
from tests.peers.apache_kafka import apache_kafka as apache_kafka


@pytest.fixture(scope="package")
def ours() -> Iterator[Client]:
    with Broker() as broker:
        yield Client(broker.bootstrap_servers)


@pytest.fixture(scope="package")
def theirs(request: pytest.FixtureRequest) -> Client:
    return Client(request.getfixturevalue("apache_kafka").bootstrap_servers)


@pytest.fixture(scope="package")
def mirror(ours: Client, theirs: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirror]:
    clusters = {"A": ours.servers, "B": theirs.servers}
    path = tmp_path_factory.mktemp("mirror") / "mm2.properties"
    config = write_config(path, clusters, ["A->B", "B->A"], topics_exclude="other.*")
    running = Mirror(config).start()
    yield running
    assert running.stop() == 0, running.told()
