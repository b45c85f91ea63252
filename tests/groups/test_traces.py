"""The golden traces of groups: classic and consumer protocol, the way from one to the other, offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.traces.group_stage import GroupStage
from tests.golden.traces.trace import check, traces


@pytest.mark.parametrize("path", traces("groups"), ids=lambda path: path.stem)
def test_groups_do_what_their_trace_says(pytestconfig: pytest.Config, path: Path) -> None:
    check(path, GroupStage(), rewrite=pytestconfig.getoption("--rewrite"))
