"""What an expression needs from outside: the time, chance, and somewhere to report what failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.python_functions import PythonRuntime


@dataclass(frozen=True)
class ExpressionFailure:
    """Something that had no result: an entry of the processing log."""

    where: str
    """The function or the operator."""
    message: str
    row: Any


def ignore(failure: ExpressionFailure) -> None:
    """For callers that keep no processing log."""


def no_clock() -> int:
    raise EvaluationFailed("There is no clock here: UNIX_TIMESTAMP() and UNIX_DATE() need one")


@dataclass(frozen=True)
class Environment:
    """Handed in where an expression is bound. Without one, functions of time and chance fail."""

    report: Callable[[ExpressionFailure], None] = ignore
    now_ms: Callable[[], int] = no_clock
    random: Random | None = None
    python: PythonRuntime | None = None
    """Executes functions in Python; without it their calls fail."""


NOWHERE = Environment()
