"""The golden traces of the controller: topics, brokers that come and go, replicas that move."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.traces.controller_stage import ControllerStage
from tests.golden.traces.trace import check, traces


@pytest.mark.parametrize("path", traces("controller"), ids=lambda path: path.stem)
def test_the_controller_does_what_its_trace_says(pytestconfig: pytest.Config, path: Path) -> None:
    check(path, ControllerStage(), rewrite=pytestconfig.getoption("--rewrite"))
