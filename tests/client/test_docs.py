"""User code in the guide and in the examples is typed: mypy is strict with all of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
BEFORE = """from __future__ import annotations
from typing import Any
import pyarrow
from penstock.client import *
from penstock.client import AsyncConsumer, AsyncProducer, Consumer, OffsetAndMetadata, Producer
from penstock.client import RebalanceListener, TopicPartition
producer: Producer
consumer: Consumer
partition: TopicPartition
offset: int
result: bytes
settings_of_producer: dict[str, Any]
keys: list[bytes]
values: list[bytes]
def offset_from_my_database(partition: TopicPartition) -> int: ...
def commit_my_database() -> None: ...
"""
"""What fragments of the guide speak of without saying where it comes from."""


@pytest.mark.timeout(600)
def test_user_code_passes_mypy_strict(tmp_path: Path) -> None:
    text = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("client*.md")))
    for number, block in enumerate(BLOCK.findall(text)):
        (tmp_path / f"block_{number}.py").write_text(BEFORE + block)
    files = [*sorted(tmp_path.glob("*.py")), *sorted((ROOT / "examples" / "client").glob("*.py"))]
    files += sorted((ROOT / "examples" / "orders").glob("[!_]*.py"))
    assert len(files) > 20
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--disable-error-code=empty-body", *map(str, files)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": f"{ROOT / 'src'}:{ROOT / 'examples' / 'orders'}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
