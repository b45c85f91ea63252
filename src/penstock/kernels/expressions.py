"""Spark column expressions as functions of an operator: text that the JVM computes, many rows at a time.

They are part of a plan like any callable. Python cannot compute them: a task without Spark refuses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn


class NeedsSpark(RuntimeError):
    """A column expression was met where there is no JVM."""


@dataclass(frozen=True)
class ColumnExpression:
    """Spark SQL over the columns `key`, `value` and `timestamp`, e.g. `ColumnExpression("upper(value)")`."""

    sql: str

    def __post_init__(self) -> None:
        if not self.sql.strip():
            raise ValueError("a column expression must not be empty")

    def __call__(self, *_: Any) -> NoReturn:
        raise NeedsSpark(f"the column expression {self.sql!r} needs a JVM: Spark computes it, Python cannot")
