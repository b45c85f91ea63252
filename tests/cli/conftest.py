"""A command line that talks to a broker of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.settings.security import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.cli.commands import CommandLine
from tests.cli.guarded import Guarded
from tests.peers.apache_kafka import free_port
from tests.security.certificates import Authority
from tests.security.properties import secured_properties


@pytest.fixture
def cli(
    penstock_broker: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    return CommandLine(penstock_broker.bootstrap_servers, capsys, monkeypatch)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A broker with an authorizer, SASL and delegation tokens."""
    folder = tmp_path_factory.mktemp("guarded")
    authority = Authority(folder)
    ports = {"PLAINTEXT": free_port(), "SASL": free_port()}
    settings = {
        **secured_properties(authority, authority.issue("broker"), ports),
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS;User:alice",
        "delegation.token.secret.key": "shared by all nodes",
    }
    with Broker(settings=settings) as broker:
        yield Guarded(broker.bootstrap_servers, f"127.0.0.1:{ports['SASL']}", folder)


@pytest.fixture
def as_super_user(
    guarded: Guarded, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    return CommandLine(guarded.servers, capsys, monkeypatch)
