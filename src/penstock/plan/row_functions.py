"""Expressions as the functions of operators: data that can stand wherever a plan has a callable.

`RowExpression` computes over a value that is a row (a mapping from columns to values), as SQL's plans have
them. `RecordExpression` sees a whole record as the columns `key` and `value`. Both are equal when their
expressions are, and a plan that has no other functions is written without a word of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from penstock.expressions.environment import NOWHERE, Environment
from penstock.expressions.evaluating import Evaluate, compiled, evaluator
from penstock.expressions.tree import Expression
from penstock.kernels.operation import Operation


@dataclass(frozen=True)
class ComputedFunction:
    """A function that an expression computes."""

    expression: Expression
    null_on_failure: bool = False
    """A row without a result gives null; otherwise the error is raised, as a Python function would."""

    @cached_property
    def _compute(self) -> Evaluate:
        return self._evaluator(NOWHERE)

    def _evaluator(self, environment: Environment) -> Evaluate:
        make = evaluator if self.null_on_failure else compiled
        return make(self.expression, environment)

    def bound(self, environment: Environment) -> Callable[..., Any]:
        """The same function with a clock, chance, and somewhere to report failures."""
        raise NotImplementedError(type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled: closures do not travel to Spark's workers."""
        return {"expression": self.expression, "null_on_failure": self.null_on_failure}


@dataclass(frozen=True)
class RowExpression(ComputedFunction):
    """Called with a value, or with a key and a value; the value's columns are the expression's."""

    def __call__(self, *key_and_value: Any) -> Any:
        return self._compute(key_and_value[-1])

    def bound(self, environment: Environment) -> Callable[..., Any]:
        compute = self._evaluator(environment)
        return lambda *key_and_value: compute(key_and_value[-1])


@dataclass(frozen=True)
class WithRow:
    """A condition that no missing row meets."""

    condition: RowExpression

    def __call__(self, key: Any, row: Any) -> bool:
        return row is not None and bool(self.condition(row))

    def bound(self, environment: Environment) -> Callable[..., Any]:
        condition = self.condition.bound(environment)
        return lambda key, row: row is not None and bool(condition(row))


@dataclass(frozen=True)
class RecordExpression(ComputedFunction):
    """Called with a value, or with a key and a value; these two are the expression's columns."""

    def __call__(self, *key_and_value: Any) -> Any:
        return self._compute(_record(key_and_value))

    def bound(self, environment: Environment) -> Callable[..., Any]:
        compute = self._evaluator(environment)
        return lambda *key_and_value: compute(_record(key_and_value))


@dataclass(frozen=True)
class RowProjection:
    """Called with a value, or with a key and a value: a row of columns, each computed from the given row.

    A column without a result is null, whatever the others are.
    """

    columns: tuple[tuple[str, Expression], ...]

    @cached_property
    def _compute(self) -> tuple[tuple[str, Evaluate], ...]:
        return self._evaluators(NOWHERE)

    def _evaluators(self, environment: Environment) -> tuple[tuple[str, Evaluate], ...]:
        return tuple((name, evaluator(part, environment)) for name, part in self.columns)

    def __call__(self, *key_and_value: Any) -> dict[str, Any] | None:
        return _projected(self._compute, key_and_value[-1])

    def bound(self, environment: Environment) -> Callable[..., Any]:
        """The same function with a clock, chance, and somewhere to report failures."""
        columns = self._evaluators(environment)
        return lambda *key_and_value: _projected(columns, key_and_value[-1])

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns}


def _projected(columns: tuple[tuple[str, Evaluate], ...], row: Any) -> dict[str, Any] | None:
    """No row stays no row."""
    return None if row is None else {name: compute(row) for name, compute in columns}


def bound_operation(operation: Operation, environment: Environment) -> Operation:
    """The operator with its expressions bound to an environment; other functions stay as they are."""
    changed: dict[str, Any] = {}
    for each in fields(operation):
        value = getattr(operation, each.name)
        if hasattr(value, "bound"):
            changed[each.name] = value.bound(environment)
        elif isinstance(value, tuple) and any(isinstance(part, ComputedFunction) for part in value):
            changed[each.name] = tuple(
                part.bound(environment) if isinstance(part, ComputedFunction) else part for part in value
            )
    return replace(operation, **changed) if changed else operation


def _record(key_and_value: tuple[Any, ...]) -> dict[str, Any]:
    if len(key_and_value) == 1:
        return {"value": key_and_value[0]}
    return {"key": key_and_value[0], "value": key_and_value[1]}
