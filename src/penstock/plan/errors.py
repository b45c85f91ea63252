"""Errors of a topology, raised when it is built, with the line of the user's code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

_OURS: Final = ("penstock.streams", "penstock.plan", "penstock.kernels", "penstock.sql", "penstock.connect")


@dataclass(frozen=True)
class Origin:
    """A line of the user's code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line}"


def caller() -> Origin:
    """The innermost line that is not Penstock's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    return Origin(frame.f_code.co_filename, frame.f_lineno)


class TopologyError(ValueError):
    """A topology that cannot be built or run."""

    def __init__(self, sentence: str, origin: Origin | None = None) -> None:
        super().__init__(f"{sentence} ({origin})" if origin is not None else sentence)
        self.origin = origin
