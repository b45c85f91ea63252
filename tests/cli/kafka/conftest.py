"""One broker for all of Kafka's commands, and a way to run theirs and ours against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.testing import Broker
from tests.cli.kafka.side_by_side import SideBySide
from tests.peers.java_programs import JavaPrograms


@pytest.fixture(scope="session")
def command_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="session")
def command_broker(command_data: Path) -> Iterator[Broker]:
    with Broker(str(command_data), {"offsets.topic.num.partitions": "2"}) as running:
        yield running


@pytest.fixture
def side(
    command_broker: Broker,
    java_programs: JavaPrograms,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> SideBySide:
    return SideBySide(command_broker.bootstrap_servers, java_programs, capsys, monkeypatch)
