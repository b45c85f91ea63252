"""Executes functions that users wrote in Python, in this process: Spark's workers, and runs of test cases.

A call is ended after the function's time by an alarm, which reaches loops, sleeps and regular expressions.
Only the main thread of a process can be reached so; elsewhere functions have no bound, and the server runs
them in a process of their own.
"""

from __future__ import annotations

import ast
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.numbers import fitted
from penstock.expressions.python_functions import PythonAggregate, PythonFunction

MOST_ROWS: Final = 1_000_000
"""Of one call of a table function."""


class FunctionError(ValueError):
    """A text that is no function: it cannot be compiled, or lacks what its declaration says."""


class InProcess:
    """The runtime of a process that may execute anything."""

    def scalar(self, function: PythonFunction) -> Callable[..., Any]:
        handler = handler_of(function)

        def call(*values: Any) -> Any:
            with time_bound(function):
                found = handler(*values)
            return typed_result(function.returns, found, function)

        return call

    def table(self, function: PythonFunction) -> Callable[..., list[Any]]:
        handler = handler_of(function)

        def call(*values: Any) -> list[Any]:
            with time_bound(function):
                rows = []
                for row in handler(*values) or ():
                    rows.append(typed_result(function.returns, row, function))
                    if len(rows) > MOST_ROWS:
                        raise EvaluationFailed(f"{function.name} gives more than {MOST_ROWS} rows")
            return rows

        return call

    def aggregate(self, function: PythonFunction) -> PythonAggregate:
        handler = handler_of(function)

        def bounded(method: str) -> Callable[..., Any]:
            found = getattr(handler, method, None)

            def call(*values: Any) -> Any:
                if found is None:
                    raise EvaluationFailed(f"{function.name} has no method {method}")
                with time_bound(function):
                    return found(*values)

            return call

        finish: Callable[[Any], Any] = bounded("result") if hasattr(handler, "result") else _as_is
        return PythonAggregate(
            bounded("initial"),
            bounded("add"),
            bounded("merge"),
            lambda state: typed_result(function.returns, finish(state), function),
            bounded("undo"),
        )


def _as_is(state: Any) -> Any:
    return state


@contextmanager
def time_bound(function: PythonFunction) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        raise EvaluationFailed(f"{function.name} took longer than {function.timeout_ms} ms")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, function.timeout_ms / 1000)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def handler_of(function: PythonFunction) -> Any:
    """What is called; FunctionError where the text does not have it."""
    if not function.source:
        module, _, name = function.handler.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise FunctionError(f"{function.handler} cannot be imported: {error}") from error
    names = _executed(function.source, function.name)
    wanted = function.handler.lower()
    found = [value for name, value in names.items() if name.lower() == wanted and callable(value)]
    if not found:
        raise FunctionError(
            f"The text of {function.name} defines no {function.handler.lower()}: define it, or name another "
            "with HANDLER"
        )
    return found[0]


@lru_cache(maxsize=256)
def _executed(source: str, name: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": f"function_{name.lower()}"}
    try:
        exec(compile(source, f"<function {name}>", "exec"), names)
    except Exception as error:
        raise FunctionError(f"The text of {name} cannot be executed: {error}") from error
    return names


def defined_names(source: str, name: str) -> dict[str, list[str]]:
    """What a text defines, in lower case, and the methods of its classes. Nothing is executed."""
    try:
        tree = ast.parse(source, f"<function {name}>")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FunctionError(f"The text of {name} is no Python: {error}") from error
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name.lower()] = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
        elif isinstance(node, ast.Assign):
            found.update({each.id.lower(): [] for each in node.targets if isinstance(each, ast.Name)})
    return found


def typed_result(kind: t.SqlType, value: Any, function: PythonFunction) -> Any:
    """A result as a value of the declared type: whole numbers become doubles and decimals, tuples arrays."""
    found = _fitted(kind, value)
    if not t.holds(kind, found):
        raise EvaluationFailed(f"{function.name} gave {value!r:.80}, which is no {kind}")
    return found


def _fitted(kind: t.SqlType, value: Any) -> Any:
    if value is None:
        return None
    match kind:
        case t.Array(item=item) if isinstance(value, list | tuple):
            return [_fitted(item, each) for each in value]
        case t.Map(value=inner) if isinstance(value, dict):
            return {name: _fitted(inner, each) for name, each in value.items()}
        case t.Struct(fields=fields) if isinstance(value, dict):
            given = {str(name).upper(): each for name, each in value.items()} | value
            return {each.name: _fitted(each.type, given.get(each.name)) for each in fields}
        case t.Decimal() if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return fitted(Decimal(value), kind)
        case t.DOUBLE if type(value) is int:
            return float(value)
        case _:
            return value
