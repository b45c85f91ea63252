"""Aggregate and table functions, by name.

An aggregate folds rows into a state of plain values (numbers, texts, lists, dicts), which a store can hold:
`add` takes a row in, `undo` takes it out again where that is possible (a table's rows change), `merge` makes
one state of two (sessions grow together), and `result` is what people see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.comparing import utf16
from penstock.expressions.errors import TypeMismatch
from penstock.expressions.functions.distinct_counting import added, estimate, merged
from penstock.expressions.numbers import fitted, wrap_int, wrap_long

LIMIT: Final = 1000
"""Items that COLLECT_LIST, COLLECT_SET and HISTOGRAM keep at most, as in Confluent Cloud."""

State = Any


@dataclass(frozen=True)
class Aggregate:
    """One aggregation with its types."""

    result_type: t.SqlType
    initial: Callable[[], State]
    add: Callable[..., State]
    """(state, *values) → state. The state given is not used again."""
    merge: Callable[[State, State], State]
    result: Callable[[State], Any] = lambda state: state
    undo: Callable[..., State] | None = None
    """(state, *values) → state without that row; none: the function cannot stand over a table."""


Make = Callable[[Sequence[t.SqlType], Sequence[Any]], Aggregate | None]
"""From the types of the columns and the constants behind them; none if they do not fit."""


@dataclass
class AggregateFunction:
    name: str
    description: str
    makers: list[Make] = field(default_factory=list)


AGGREGATES: Final[dict[str, AggregateFunction]] = {}


def aggregate(name: str, kinds: Sequence[t.SqlType], constants: Sequence[Any] = ()) -> Aggregate:
    """The aggregation of this name over columns of these types, with these constant arguments behind them."""
    function = AGGREGATES.get(name)
    if function is None:
        raise TypeMismatch(f"There is no aggregation {name}")
    for make in function.makers:
        found = make(kinds, constants)
        if found is not None:
            return found
    shown = ", ".join([*map(str, kinds), *map(_kind_of, constants)])
    raise TypeMismatch(
        f"Function '{name}' does not accept parameters ({shown}).\n{name}: {function.description}\n"
        "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;"
    )


def _kind_of(constant: Any) -> str:
    kinds = {bool: "BOOLEAN", int: "INTEGER", float: "DOUBLE", str: "STRING"}
    return kinds.get(type(constant), type(constant).__name__.upper())


def define(name: str) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        words = " ".join((make.__doc__ or "").split())
        AGGREGATES.setdefault(name, AggregateFunction(name, words)).makers.append(make)
        return make

    return add


def _wrap(kind: t.SqlType) -> Callable[[Any], Any]:
    if kind == t.INTEGER:
        return wrap_int
    if kind == t.BIGINT:
        return wrap_long
    if isinstance(kind, t.Decimal):
        return lambda value: fitted(value, kind)
    return lambda value: value


def _zero(kind: t.SqlType) -> Any:
    if isinstance(kind, t.Decimal):
        return fitted(Decimal(0), kind)
    return 0.0 if kind == t.DOUBLE else 0


@define("COUNT")
def _count(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """Counts rows, or values that are not null."""
    if len(kinds) > 1 or constants:
        return None

    def step(by: int) -> Callable[..., int]:
        return lambda state, *values: state + by if not values or values[0] is not None else state

    return Aggregate(t.BIGINT, int, step(1), lambda a, b: a + b, undo=step(-1))


@define("SUM")
def _sum(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """Adds numbers of one type."""
    if len(kinds) != 1 or constants or not t.is_numeric(kinds[0]):
        return None
    kind = kinds[0]
    if isinstance(kind, t.Decimal):
        kind = t.Decimal(max(kind.precision, 31), kind.scale)
    wrap, zero = _wrap(kind), _zero(kind)
    return Aggregate(
        kind,
        lambda: zero,
        lambda state, value: state if value is None else wrap(state + value),
        lambda a, b: wrap(a + b),
        undo=lambda state, value: state if value is None else wrap(state - value),
    )


@define("SUM_LIST")
def _sum_list(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """Adds all items of arrays of numbers."""
    if len(kinds) != 1 or not isinstance(kinds[0], t.Array) or not t.is_numeric(kinds[0].item):
        return None
    inner = aggregate("SUM", [kinds[0].item])
    assert inner.undo is not None

    def folded(step: Callable[..., State]) -> Callable[..., State]:
        def fold(state: State, items: list[Any] | None) -> State:
            for item in items or ():
                state = step(state, item)
            return state

        return fold

    return Aggregate(
        inner.result_type, inner.initial, folded(inner.add), inner.merge, undo=folded(inner.undo)
    )


@define("AVG")
def _avg(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """The average of numbers, as a DOUBLE."""
    if len(kinds) != 1 or not t.is_numeric(kinds[0]):
        return None

    def step(sign: int) -> Callable[..., State]:
        def change(state: list[Any], value: Any) -> State:
            return state if value is None else [state[0] + sign * float(value), state[1] + sign]

        return change

    return Aggregate(
        t.DOUBLE,
        lambda: [0.0, 0],
        step(1),
        lambda a, b: [a[0] + b[0], a[1] + b[1]],
        lambda state: state[0] / state[1] if state[1] else 0.0,
        step(-1),
    )


_ORDERED: Final = (t.INTEGER, t.BIGINT, t.DOUBLE, t.STRING, t.BYTES, t.DATE, t.TIME, t.TIMESTAMP)


def _order(kind: t.SqlType) -> Callable[[Any], Any]:
    return utf16 if kind == t.STRING else lambda value: value


def _extreme(choose: Callable[..., Any]) -> Make:
    def make(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
        if len(kinds) != 1 or constants or not (kinds[0] in _ORDERED or isinstance(kinds[0], t.Decimal)):
            return None
        order = _order(kinds[0])

        def pick(state: Any, value: Any) -> Any:
            known = [each for each in (state, value) if each is not None]
            return choose(known, key=order) if known else None

        return Aggregate(kinds[0], lambda: None, pick, pick)

    make.__doc__ = "The largest or smallest value of a type that has an order."
    return make


define("MAX")(_extreme(max))
define("MIN")(_extreme(min))


def _collected(distinct: bool) -> Make:
    def make(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
        if len(kinds) != 1 or len(constants) > 1 or not all(type(each) is int for each in constants):
            return None
        limit = constants[0] if constants else LIMIT

        def add(state: list[Any], value: Any) -> State:
            if len(state) >= limit or (distinct and value in state):
                return state
            return [*state, value]

        def merge(one: list[Any], other: list[Any]) -> State:
            for value in other:
                one = add(one, value)
            return one

        def undo(state: list[Any], value: Any) -> State:
            """Takes the last one away, as ksqlDB does."""
            for at in range(len(state) - 1, -1, -1):
                if state[at] == value:
                    return [*state[:at], *state[at + 1 :]]
            return state

        return Aggregate(t.Array(kinds[0]), list, add, merge, undo=None if distinct else undo)

    make.__doc__ = "The values as an array, a thousand at most."
    return make


define("COLLECT_LIST")(_collected(False))
define("COLLECT_SET")(_collected(True))


@define("COUNT_DISTINCT")
def _count_distinct(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """About how many different values there are, by HyperLogLog."""
    if len(kinds) != 1 or constants:
        return None
    return Aggregate(
        t.BIGINT,
        str,
        lambda state, value: state if value is None else added(state, value, kinds[0]),
        merged,
        estimate,
    )


@define("HISTOGRAM")
def _histogram(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """How often each text occurs, of a thousand texts at most."""
    if list(kinds) != [t.STRING] or constants:
        return None

    def add(state: dict[str, int], value: str | None, by: int = 1) -> State:
        if value is None or (value not in state and len(state) >= LIMIT):
            return state
        return {**state, value: state.get(value, 0) + by}

    def merge(one: dict[str, int], other: dict[str, int]) -> State:
        for value, count in other.items():
            one = add(one, value, count)
        return one

    def undo(state: dict[str, int], value: str | None) -> State:
        if value is None or value not in state:
            return state
        left = {**state, value: state[value] - 1}
        return {key: count for key, count in left.items() if count > 0}

    return Aggregate(t.Map(t.STRING, t.BIGINT), dict, add, merge, undo=undo)


@define("ATTR")
def _attr(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """The value that all rows have, or null if they differ."""
    if len(kinds) != 1 or constants:
        return None

    def change(by: int) -> Callable[..., State]:
        def step(state: list[list[Any]], value: Any, times: int = 1) -> State:
            found = next((at for at, pair in enumerate(state) if pair[0] == value), None)
            if found is None:
                return [*state, [value, by * times]]
            count = state[found][1] + by * times
            kept = [] if count == 0 else [[value, count]]
            return [*state[:found], *kept, *state[found + 1 :]]

        return step

    add = change(1)

    def merge(one: list[list[Any]], other: list[list[Any]]) -> State:
        for value, count in other:
            one = add(one, value, count)
        return one

    return Aggregate(
        kinds[0], list, add, merge, lambda state: state[0][0] if len(state) == 1 else None, change(-1)
    )


def _by_offset(latest: bool) -> Make:
    """LATEST_BY_OFFSET(column [, ignore nulls] | column, n [, ignore nulls])."""

    def make(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
        if len(kinds) != 1 or len(constants) > 2:
            return None
        counts = [c for c in constants if isinstance(c, int) and not isinstance(c, bool)]
        flags = [c for c in constants if isinstance(c, bool)]
        if len(counts) + len(flags) != len(constants) or any(count < 1 for count in counts):
            return None
        size, ignore = (counts[0] if counts else 1), (flags[0] if flags else True)

        def add(state: list[Any], value: Any) -> State:
            if value is None and ignore:
                return state
            if latest:
                return [*state, value][-size:]
            return state if len(state) >= size else [*state, value]

        def merge(one: list[Any], other: list[Any]) -> State:
            return [*one, *other][-size:] if latest else [*one, *other][:size]

        if counts:
            return Aggregate(t.Array(kinds[0]), list, add, merge)
        return Aggregate(kinds[0], list, add, merge, lambda state: state[0] if state else None)

    make.__doc__ = "The values of the first or last rows by offset; nulls count only if asked for."
    return make


define("LATEST_BY_OFFSET")(_by_offset(True))
define("EARLIEST_BY_OFFSET")(_by_offset(False))


def _top(distinct: bool) -> Make:
    def make(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
        fits = len(kinds) >= 1 and (kinds[0] in _ORDERED or isinstance(kinds[0], t.Decimal))
        if not fits or len(constants) != 1 or not isinstance(constants[0], int) or constants[0] < 1:
            return None
        size, order = constants[0], _order(kinds[0])
        if len(kinds) > 1 and distinct:
            return None

        def key(row: Any) -> Any:
            return order(row[0]) if len(kinds) > 1 else order(row)

        def add(state: list[Any], *values: Any) -> State:
            row = list(values) if len(kinds) > 1 else values[0]
            if values[0] is None or (distinct and row in state):
                return state
            return sorted([*state, row], key=key, reverse=True)[:size]

        def merge(one: list[Any], other: list[Any]) -> State:
            rows = [*one, *(row for row in other if not distinct or row not in one)]
            return sorted(rows, key=key, reverse=True)[:size]

        if len(kinds) == 1:
            return Aggregate(t.Array(kinds[0]), list, add, merge)
        names = ["sort_col", *(f"col{at}" for at in range(len(kinds) - 1))]
        struct = t.struct_of(zip(names, kinds, strict=True))
        return Aggregate(
            t.Array(struct),
            list,
            add,
            merge,
            lambda state: [dict(zip(names, row, strict=True)) for row in state],
        )

    make.__doc__ = "The largest values, so many as the last argument says."
    return make


define("TOPK")(_top(False))
define("TOPKDISTINCT")(_top(True))


def _deviation(root: bool) -> Make:
    """STDDEV_SAMPLE is the deviation. STDDEV_SAMP is the variance, a mistake of ksqlDB's that it keeps."""

    def make(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
        if len(kinds) != 1 or constants or not t.is_numeric(kinds[0]):
            return None

        def step(sign: int) -> Callable[..., State]:
            def change(state: list[Any], value: Any) -> State:
                if value is None:
                    return state
                number = float(value)
                return [state[0] + sign, state[1] + sign * number, state[2] + sign * number * number]

            return change

        def result(state: list[Any]) -> float:
            count, total, squares = state
            if count < 2:
                return 0.0
            variance = max(0.0, (squares - total * total / count) / (count - 1))
            return math.sqrt(variance) if root else variance

        return Aggregate(
            t.DOUBLE,
            lambda: [0, 0.0, 0.0],
            step(1),
            lambda a, b: [x + y for x, y in zip(a, b, strict=True)],
            result,
            step(-1),
        )

    make.__doc__ = "How far numbers stray from their average, for a sample."
    return make


define("STDDEV_SAMPLE")(_deviation(True))
define("STDDEV_SAMP")(_deviation(False))


@define("CORRELATION")
def _correlation(kinds: Sequence[t.SqlType], constants: Sequence[Any]) -> Aggregate | None:
    """Pearson's correlation of two numbers."""
    if len(kinds) != 2 or constants or not all(map(t.is_numeric, kinds)):
        return None

    def step(sign: int) -> Callable[..., State]:
        def change(state: list[Any], left: Any, right: Any) -> State:
            if left is None or right is None:
                return state
            a, b = float(left), float(right)
            terms = (1, a, b, a * a, b * b, a * b)
            return [x + sign * y for x, y in zip(state, terms, strict=True)]

        return change

    def result(state: list[Any]) -> float:
        n, a, b, aa, bb, ab = state
        spread = (n * aa - a * a) * (n * bb - b * b)
        return (n * ab - a * b) / math.sqrt(spread) if n > 0 and spread > 0 else math.nan

    return Aggregate(
        t.DOUBLE,
        lambda: [0, 0.0, 0.0, 0.0, 0.0, 0.0],
        step(1),
        lambda one, other: [x + y for x, y in zip(one, other, strict=True)],
        result,
        step(-1),
    )
