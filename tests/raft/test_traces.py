"""The golden traces of Raft: elections, truncation, snapshots, resignation, voters that come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.traces.raft_stage import RaftStage
from tests.golden.traces.trace import check, traces


@pytest.mark.parametrize("path", traces("raft"), ids=lambda path: path.stem)
def test_raft_does_what_its_trace_says(pytestconfig: pytest.Config, path: Path) -> None:
    check(path, RaftStage(), rewrite=pytestconfig.getoption("--rewrite"))
