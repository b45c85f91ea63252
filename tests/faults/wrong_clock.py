"""A node whose wall clock is wrong, and jumps while it runs: a library preloaded into its process."""

from __future__ import annotations

import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from penstock.testing.cluster import Node

COMPILE_SECONDS: Final = 60


def why_not() -> str | None:
    return (
        None if shutil.which("cc") else "a wrong clock is a library in C, and there is no `cc` to compile it"
    )


class WrongClock:
    """Of one node, from its next start on; right until it is set."""

    def __init__(self, node: Node) -> None:
        node.home.mkdir(parents=True, exist_ok=True)
        self._file = node.home / "wrong-clock"
        self._file.write_bytes(bytes(8))
        node.environment |= {
            "LD_PRELOAD": str(_library(node.home.parent)),
            "WRONG_CLOCK": str(self._file),
        }

    def set(self, seconds: int) -> None:
        """Wrong by so much from now on, into the future or the past."""
        with self._file.open("r+b") as file:  # in place: the node has it mapped
            file.write(struct.pack("=q", seconds))


@cache
def _library(directory: Path) -> Path:
    target = directory / "wrong_clock.so"
    source = Path(__file__).with_suffix(".c")
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(target), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, timeout=COMPILE_SECONDS)
    return target
