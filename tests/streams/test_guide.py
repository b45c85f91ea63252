"""The programs of docs/streams.md run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "streams.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=["word count", "expression", "processor"])
def test_a_program_of_the_guide_runs(program: str) -> None:
    exec(compile(program, str(GUIDE), "exec"), {"__name__": "guide"})
