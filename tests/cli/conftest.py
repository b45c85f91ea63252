"""A command line that talks to a broker of the test's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.commands import CommandLine


@pytest.fixture
def cli(
    penstock_broker: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    return CommandLine(penstock_broker.bootstrap_servers, capsys, monkeypatch)
