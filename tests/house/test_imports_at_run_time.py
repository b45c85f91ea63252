"""What a starting broker has really imported: import-linter reads the source, this asks the interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"confluent_kafka", "nicegui", "numpy", "pandas", "pyarrow", "pyspark"}


def top_level_modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize(
    "module", ["penstock.server.main", "penstock.cli.broker", "penstock.testing.fixtures"]
)
def test_the_broker_starts_without_a_heavy_library(module: str) -> None:
    assert HEAVY & top_level_modules_after(f"import {module}") == set()


def test_a_heavy_library_would_be_noticed() -> None:
    assert "numpy" in top_level_modules_after("import numpy")
