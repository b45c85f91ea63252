"""The guarded broker and its services, started once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security.guarded_services import GuardedBroker, ServiceProcess


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    broker = GuardedBroker(tmp_path_factory.mktemp("guarded"))
    broker.process.start()
    try:
        broker.prepare()
        yield broker
    finally:
        broker.process.stop()


@pytest.fixture(scope="session")
def registry(guarded: GuardedBroker) -> Iterator[ServiceProcess]:
    client = {f"kafkastore.{name}": value for name, value in guarded.client("service").items()}
    settings = {**guarded.door(), **guarded.own_store(), **client}
    service = ServiceProcess(guarded.folder, "registry", settings, guarded.address).start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def rest(guarded: GuardedBroker, registry: ServiceProcess) -> Iterator[ServiceProcess]:
    client = {f"client.{name}": value for name, value in guarded.client("service").items()}
    settings = {
        **guarded.door(),
        **guarded.own_store(),
        **client,
        "schema.registry.url": registry.url,
        "schema.registry.ssl.truststore.location": str(guarded.authority.path),
        "schema.registry.ssl.truststore.type": "PEM",
    }
    service = ServiceProcess(guarded.folder, "rest", settings, guarded.address).start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def sql(guarded: GuardedBroker) -> Iterator[ServiceProcess]:
    settings = {**guarded.door(), **guarded.own_store(), **guarded.client("service")}
    service = ServiceProcess(guarded.folder, "sql", settings, guarded.address).start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def connect(guarded: GuardedBroker) -> Iterator[ServiceProcess]:
    store = {f"listeners.https.{name}": value for name, value in guarded.own_store().items()}
    providers = {"config.providers": "file,env,directory"}
    settings = {**guarded.door(), **store, **guarded.client("service"), **providers}
    service = ServiceProcess(guarded.folder, "connect", settings, guarded.address).start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def console(guarded: GuardedBroker) -> Iterator[ServiceProcess]:
    client = {f"client.{name}": value for name, value in guarded.client("service").items()}
    settings = {**guarded.door(), **guarded.own_store(), **client}
    service = ServiceProcess(guarded.folder, "console", settings, guarded.address).start()
    yield service
    service.stop()
