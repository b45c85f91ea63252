"""Functions that users wrote in Python, as data. Whoever runs expressions hands in what executes them
(`Environment.python`); without it a call fails.

Nothing here executes a user's text: see `plan/python_runtime.py`, and the server's process for functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from penstock.expressions import types as t

SCALAR, AGGREGATE, TABLE = "SCALAR", "AGGREGATE", "TABLE"
TIMEOUT_MS: Final = 5_000
"""How long one call may take, unless the function says otherwise."""


@dataclass(frozen=True)
class PythonFunction:
    name: str
    kind: str
    """SCALAR, AGGREGATE or TABLE."""
    parameters: tuple[tuple[str, t.SqlType], ...]
    returns: t.SqlType
    """Of a table function: the type of a row."""
    source: str
    """Python's text; empty where the handler is one of an installed package."""
    handler: str
    """The name within the text, or `package.module:name`."""
    timeout_ms: int = TIMEOUT_MS

    @property
    def signature(self) -> str:
        given = ", ".join(f"{name} {kind}" for name, kind in self.parameters)
        return f"{self.name}({given})"


@dataclass(frozen=True)
class PythonAggregate:
    """What the class of an aggregation has."""

    initial: Callable[[], Any]
    add: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]
    undo: Callable[..., Any]


class PythonRuntime(Protocol):
    """Executes functions. What they give has the declared type; anything else is an `EvaluationFailed`."""

    def scalar(self, function: PythonFunction) -> Callable[..., Any]: ...

    def table(self, function: PythonFunction) -> Callable[..., list[Any]]: ...

    def aggregate(self, function: PythonFunction) -> PythonAggregate: ...
