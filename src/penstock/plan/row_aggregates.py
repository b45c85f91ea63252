"""Aggregations over rows as data: the functions that an aggregating operator calls.

A group's state is a list with one state for each call, in the order of the calls. `RowAdd` and its siblings
change it, `AggregatedRow` makes the row that stands for the group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from penstock.expressions import types as t
from penstock.expressions.environment import NOWHERE, Environment, ExpressionFailure
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.evaluating import Evaluate, evaluator
from penstock.expressions.functions.aggregates import Aggregate, aggregate
from penstock.expressions.python_functions import PythonFunction
from penstock.expressions.tree import Expression
from penstock.kernels.record import Windowed


@dataclass(frozen=True)
class AggregateCall:
    """One aggregation: its arguments are computed from a row, its constants are known."""

    name: str
    arguments: tuple[Expression, ...] = ()
    constants: tuple[Any, ...] = ()
    python: PythonFunction | None = None
    """A function of a user."""

    def function(self, environment: Environment = NOWHERE) -> Aggregate:
        if self.python is not None:
            return _of_user(self.python, environment)
        return aggregate(self.name, [part.type for part in self.arguments], self.constants)

    @property
    def can_undo(self) -> bool:
        """Whether it can stand over a table, whose rows change."""
        if self.python is not None:
            return not self.python.source or "def undo" in self.python.source
        return self.function().undo is not None

    @property
    def type(self) -> t.SqlType:
        return self.function().result_type if self.python is None else self.python.returns


@dataclass(frozen=True)
class _Calls:
    calls: tuple[AggregateCall, ...]

    @cached_property
    def functions(self) -> tuple[Aggregate, ...]:
        return self.functions_in(NOWHERE)

    def functions_in(self, environment: Environment) -> tuple[Aggregate, ...]:
        return tuple(call.function(environment) for call in self.calls)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}


@dataclass(frozen=True)
class RowInitial(_Calls):
    """() → the state of a group without rows."""

    def __call__(self) -> list[Any]:
        return [function.initial() for function in self.functions]

    def bound(self, environment: Environment) -> Callable[[], list[Any]]:
        makers = [function.initial for function in self.functions_in(environment)]
        return lambda: [make() for make in makers]


@dataclass(frozen=True)
class _RowStep(_Calls):
    """(key, row, state) → state."""

    def _step(self, function: Aggregate) -> Callable[..., Any]:
        raise NotImplementedError

    @cached_property
    def _steps(self) -> list[tuple[Callable[..., Any], list[Evaluate]]]:
        return self._made(NOWHERE)

    def _made(self, environment: Environment) -> list[tuple[Callable[..., Any], list[Evaluate]]]:
        return [
            (self._step(function), [evaluator(part, environment) for part in call.arguments])
            for function, call in zip(self.functions_in(environment), self.calls, strict=True)
        ]

    def __call__(self, key: Any, row: Any, state: list[Any]) -> list[Any]:
        return _stepped(self._steps, row, state)

    def bound(self, environment: Environment) -> Callable[..., Any]:
        """Arguments are computed once for a row, however many windows it falls into."""
        steps = self._made(environment)
        known: Any = None
        values: list[list[Any]] = []

        def step(key: Any, row: Any, state: list[Any]) -> list[Any]:
            nonlocal known, values
            if row is not known:
                known, values = row, [[part(row) for part in arguments] for _, arguments in steps]
            return [add(old, *given) for (add, _), old, given in zip(steps, state, values, strict=True)]

        return step


def _stepped(steps: list[tuple[Callable[..., Any], list[Evaluate]]], row: Any, state: list[Any]) -> list[Any]:
    return [
        step(old, *[part(row) for part in arguments])
        for (step, arguments), old in zip(steps, state, strict=True)
    ]


@dataclass(frozen=True)
class RowAdd(_RowStep):
    def _step(self, function: Aggregate) -> Callable[..., Any]:
        return function.add


@dataclass(frozen=True)
class RowUndo(_RowStep):
    """Takes a row out of its group again."""

    def _step(self, function: Aggregate) -> Callable[..., Any]:
        assert function.undo is not None, "analysis refuses such functions over tables"
        return function.undo


@dataclass(frozen=True)
class RowMerge(_Calls):
    """(key, state, state) → the state of both groups together."""

    def __call__(self, key: Any, one: list[Any], other: list[Any]) -> list[Any]:
        return _merged(self.functions, one, other)

    def bound(self, environment: Environment) -> Callable[..., list[Any]]:
        functions = self.functions_in(environment)
        return lambda key, one, other: _merged(functions, one, other)


def _merged(functions: tuple[Aggregate, ...], one: list[Any], other: list[Any]) -> list[Any]:
    parts = zip(functions, one, other, strict=True)
    return [function.merge(left, right) for function, left, right in parts]


@dataclass(frozen=True)
class AggregatedRow(_Calls):
    """(key, state) → a row: the key's columns, the bounds of its window, and the results."""

    key: tuple[str, ...]
    results: tuple[str, ...]
    """The column of each call's result."""

    def __call__(self, key: Any, state: list[Any]) -> dict[str, Any]:
        return self._row(self.functions, key, state)

    def bound(self, environment: Environment) -> Callable[..., dict[str, Any]]:
        functions = self.functions_in(environment)
        return lambda key, state: self._row(functions, key, state)

    def _row(self, functions: tuple[Aggregate, ...], key: Any, state: list[Any]) -> dict[str, Any]:
        row: dict[str, Any] = {}
        if isinstance(key, Windowed):
            row["WINDOWSTART"], row["WINDOWEND"] = key.start, key.end
            key = key.key
        row.update(key_columns(self.key, key))
        for name, function, part in zip(self.results, functions, state, strict=True):
            row[name] = function.result(part)
        return row


def _of_user(function: PythonFunction, environment: Environment) -> Aggregate:
    """Whatever fails is reported: a row that cannot be added leaves the group as it is."""
    if environment.python is None:
        raise EvaluationFailed(f"{function.name} is a function in Python, and none are executed here")
    made = environment.python.aggregate(function)

    def guarded(step: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            try:
                return step(*values)
            except Exception as error:
                message = f"Failed to invoke function {function.name}: {error}"
                environment.report(ExpressionFailure(function.name, message, None))
                return otherwise(*values)

        return call

    def first(state: Any, *values: Any) -> Any:
        return state

    return Aggregate(
        function.returns,
        made.initial,
        guarded(made.add, first),
        guarded(made.merge, first),
        guarded(made.result, lambda state: None),
        guarded(made.undo, first),
    )


def key_columns(names: tuple[str, ...], key: Any) -> dict[str, Any]:
    """The columns of a key: a single one is the key itself, several are a mapping."""
    if isinstance(key, Windowed):
        key = key.key
    if len(names) == 1:
        return {names[0]: key}
    return {name: None if key is None else key.get(name) for name in names}
