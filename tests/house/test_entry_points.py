"""Kafka's commands: each has both of its names, stands in the documentation, and starts quickly."""

from __future__ import annotations

import resource
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

from tests.house.sources import ROOT

SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
KAFKAS = {name: where for name, where in SCRIPTS.items() if name.startswith(("kafka-", "connect-"))}
START_SECONDS = 0.3
ATTEMPTS = 3
PARTS = 3


def test_every_command_of_kafka_has_both_names() -> None:
    plain = {name: where for name, where in KAFKAS.items() if not name.endswith(".sh")}
    assert plain
    assert {f"{name}.sh": where for name, where in plain.items()} == {
        name: where for name, where in KAFKAS.items() if name.endswith(".sh")
    }


@pytest.mark.parametrize("where", sorted(set(SCRIPTS.values())))
def test_every_entry_point_is_there(where: str) -> None:
    module, _, name = where.partition(":")
    assert callable(getattr(import_module(module), name))


def test_every_command_of_kafka_stands_in_the_documentation() -> None:
    rows = (ROOT / "docs" / "commands.md").read_text().split("## What differs")[0]
    named = {line.split("`")[1] for line in rows.splitlines() if line.startswith("| `")}
    assert named == {name for name in KAFKAS if not name.endswith(".sh")}


MODULES = sorted({where.partition(":")[0] for where in KAFKAS.values()})


@pytest.mark.parametrize("part", range(PARTS))
def test_a_command_of_kafka_starts_in_little_time(part: int) -> None:
    """Some of them are imported in one process, which bounds each; processor time, as others may be busy."""
    statement = f"import {', '.join(MODULES[part::PARTS])}"
    assert min(_processor_seconds(statement) for _ in range(ATTEMPTS)) < START_SECONDS


def _processor_seconds(statement: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
