"""Calls that are no scalar functions: aggregations and table functions. Each becomes a column of its own,
which another step fills before the expression around it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.functions.aggregates import AGGREGATES
from penstock.expressions.functions.table_functions import TABLE_FUNCTIONS, table_function
from penstock.expressions.python_functions import AGGREGATE, SCALAR, TABLE
from penstock.expressions.rewriting import columns_of
from penstock.plan.row_aggregates import AggregateCall
from penstock.plan.row_steps import TableCall
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope, python_call, typed
from penstock.sql.message_text import shown

_ALL_EXPRESSIONS: Final = frozenset({"COUNT"})
"""Aggregations whose arguments are computed even where they are constants."""
_COUNTED: Final = frozenset({"TOPK", "TOPKDISTINCT", "LATEST_BY_OFFSET", "EARLIEST_BY_OFFSET"})
"""Aggregations whose last argument says how many items they keep."""


@dataclass
class SpecialCalls:
    """Gathers the calls of a query while its expressions are analysed."""

    aggregates: dict[AggregateCall, str] = field(default_factory=dict)
    tables: dict[TableCall, str] = field(default_factory=dict)
    allowed: bool = True
    """Whether table functions may stand here."""
    first_aggregate: x.FunctionCall | None = None
    limits: dict[str, int] = field(default_factory=dict)
    """How many items aggregations keep, by their names."""
    bounds: frozenset[str] = frozenset()
    """Bounds of windows that only the aggregation makes: no aggregation can read them."""
    neighbour: Callable[[x.FunctionCall, Scope], e.Expression] | None = None
    """What becomes of LAG and LEAD."""

    def hook(self, node: x.FunctionCall, known: Scope) -> e.Expression | None:
        if node.name in AGGREGATES:
            return self._aggregate(node, known)
        if self.neighbour is not None and node.name in ("LAG", "LEAD") and node.name not in known.functions:
            return self.neighbour(node, known)
        if node.name in TABLE_FUNCTIONS:
            return self._table(node, known)
        user = known.functions.get(node.name)
        if user is None or user.kind == SCALAR:
            return None
        return self._user_aggregate(node, known) if user.kind == AGGREGATE else self._user_table(node, known)

    def _user_aggregate(self, node: x.FunctionCall, known: Scope) -> e.Expression:
        self.first_aggregate = self.first_aggregate or node
        function, parts = python_call(node, replace(known, calls=None), AGGREGATE)
        for part in parts:
            self._refuse_bounds(part, node)
        call = AggregateCall(node.name, parts, (), function)
        name = self.aggregates.setdefault(call, f"KSQL_AGG_VARIABLE_{len(self.aggregates)}")
        return e.Column(name, function.returns)

    def _user_table(self, node: x.FunctionCall, known: Scope) -> e.Expression:
        if not self.allowed:
            raise SqlError("Table functions cannot be used with aggregations.", *node.at)
        function, parts = python_call(node, replace(known, calls=None), TABLE)
        name = f"KSQL_SYNTH_{len(self.tables)}"
        self.tables[TableCall(name, node.name, e.NULL, function, parts)] = name
        return e.Column(name, function.returns)

    def _aggregate(self, node: x.FunctionCall, known: Scope) -> e.Expression:
        self.first_aggregate = self.first_aggregate or node
        for argument in node.arguments:
            nested = nested_call(argument, AGGREGATES)
            if nested is not None:
                raise SqlError(f"Aggregate functions can not be nested: {shown(node)}", *node.at)
        expressions, constants = self._arguments(node, known)
        call = AggregateCall(node.name, expressions, constants)
        try:
            kind = call.type
        except TypeMismatch as error:
            if node.name in _COUNTED and len(node.arguments) > 1 and not constants:
                raise SqlError(
                    f"Parameter {len(node.arguments)} passed to function {node.name} must be a literal "
                    f"constant, but was expression: '{shown(node.arguments[-1])}'",
                    *node.at,
                ) from error
            raise SqlError(str(error), *node.at) from error
        name = self.aggregates.setdefault(call, f"KSQL_AGG_VARIABLE_{len(self.aggregates)}")
        return e.Column(name, kind)

    def _arguments(
        self, node: x.FunctionCall, known: Scope
    ) -> tuple[tuple[e.Expression, ...], tuple[Any, ...]]:
        if node.star:
            if node.name != "COUNT":
                raise SqlError(f"{node.name}(*) is not there: only COUNT takes a star", *node.at)
            return (), ()
        plain = replace(known, calls=None)
        parts = [typed(argument, plain) for argument in node.arguments]
        for part in parts:
            self._refuse_bounds(part, node)
        constants: list[Any] = []
        while len(parts) > 1 and isinstance(parts[-1], e.Literal) and node.name not in _ALL_EXPRESSIONS:
            constants.insert(0, parts.pop().value)  # type: ignore[attr-defined]
        if node.name in self.limits and not constants:
            constants = [self.limits[node.name]]
        return tuple(parts), tuple(constants)

    def _refuse_bounds(self, part: e.Expression, node: x.FunctionCall) -> None:
        for column in columns_of(part):
            if column.name in self.bounds:
                raise SqlError(
                    f"Window bounds column {column.name} can only be used in the SELECT clause of windowed "
                    "aggregations and can not be passed to aggregate functions.\n"
                    "See https://github.com/confluentinc/ksql/issues/4397",
                    *node.at,
                )

    def _table(self, node: x.FunctionCall, known: Scope) -> e.Expression:
        if not self.allowed:
            raise SqlError("Table functions cannot be used with aggregations.", *node.at)
        for argument in node.arguments:
            if nested_call(argument, TABLE_FUNCTIONS) is not None:
                raise SqlError(f"Table functions can't be nested: {shown(node)}", *node.at)
        parts = [typed(argument, replace(known, calls=None)) for argument in node.arguments]
        try:
            kind, _ = table_function(node.name, [part.type for part in parts])
        except TypeMismatch as error:
            raise SqlError(str(error), *node.at) from error
        name = f"KSQL_SYNTH_{len(self.tables)}"
        self.tables[TableCall(name, node.name, parts[0])] = name
        return e.Column(name, kind)


def limits_of(properties: Mapping[str, Any]) -> dict[str, int]:
    """Limits of COLLECT_LIST and COLLECT_SET as settings have them."""
    found = {}
    for name in ("COLLECT_LIST", "COLLECT_SET"):
        given = properties.get(f"ksql.functions.{name.lower()}.limit")
        if given is not None and int(given) >= 0:
            found[name] = int(given)
    return found


def nested_call(node: x.Expression, names: Any) -> x.FunctionCall | None:
    """The first call of one of these functions, wherever it stands."""
    if isinstance(node, x.FunctionCall) and node.name in names:
        return node
    for part in node.parts():
        found = nested_call(part, names)
        if found is not None:
            return found
    return None


def refuse_calls(node: x.Expression, clause: str) -> None:
    """Aggregations and table functions cannot stand in WHERE and the like."""
    found = nested_call(node, TABLE_FUNCTIONS)
    if found is not None:
        raise SqlError(f"Table functions cannot be used in {clause}s.: {shown(found)}", *found.at)
    found = nested_call(node, AGGREGATES)
    if found is not None:
        raise SqlError(
            f"Aggregate functions are not allowed in the {clause} clause: {shown(found)}. Use HAVING",
            *found.at,
        )


def boolean(expression: e.Expression, clause: str, node: x.Expression) -> e.Expression:
    if expression.type not in (t.BOOLEAN, t.NULL):
        raise SqlError(
            f"Type error in {clause} expression: Should evaluate to boolean but is {shown(node)} "
            f"({expression.type}) instead.",
            *node.at,
        )
    return expression
