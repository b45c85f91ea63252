"""What a check found."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Level(Enum):
    OK = "ok"
    WARNING = "warning"
    """It works, and not as well as it could."""
    PROBLEM = "problem"


class Finding(NamedTuple):
    check: str
    """What was looked at, in a word or two."""
    level: Level
    what: str
    """What was found, a sentence."""
    fix: str = ""
    """What to do; empty when nothing is to be done."""


def ok(check: str, what: str) -> Finding:
    return Finding(check, Level.OK, what)


def warning(check: str, what: str, fix: str) -> Finding:
    return Finding(check, Level.WARNING, what, fix)


def problem(check: str, what: str, fix: str) -> Finding:
    return Finding(check, Level.PROBLEM, what, fix)
