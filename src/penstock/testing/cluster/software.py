"""Whose processes a cluster runs. Both sides understand the same properties, so this is all that differs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol


class Software(Protocol):
    @property
    def name(self) -> str: ...

    def format(self, properties: Path, data: Path) -> None:
        """Make an empty directory ready for the first start; one that was formatted stays as it is."""
        ...

    def command(self, properties: Path) -> list[str]:
        """What runs a node in the foreground; SIGTERM stops it cleanly."""
        ...


class Penstock:
    """`penstock broker`, which formats an empty directory by itself."""

    name = "Penstock"

    def format(self, properties: Path, data: Path) -> None:
        pass

    def command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", "penstock", "broker", "--config", str(properties)]
