"""Random types, values and expressions: every node with operands that fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.functions.resolving import call

INTS: Final = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)])
LONGS: Final = st.integers(-(2**63), 2**63 - 1) | INTS | st.sampled_from([2**63 - 1, -(2**63)])
DOUBLES: Final = st.floats() | st.sampled_from([0.0, -0.0, 0.1, 1e22, -3.5])
FINITE: Final = st.floats(allow_nan=False, allow_infinity=False)
TEXTS: Final = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["", "1", "-7", "true", "1.5e3", "2020-02-29", "abc%_", "ß", "\U0001f600x"]
)
AMOUNT: Final = t.Decimal(6, 2)

COLUMNS: Final[dict[str, t.SqlType]] = {
    "I": t.INTEGER,
    "J": t.INTEGER,
    "L": t.BIGINT,
    "M": t.BIGINT,
    "D": t.DOUBLE,
    "F": t.DOUBLE,
    "N": AMOUNT,
    "S": t.STRING,
    "T": t.STRING,
    "B": t.BOOLEAN,
    "X": t.BYTES,
    "DAY": t.DATE,
    "CLOCK": t.TIME,
    "AT": t.TIMESTAMP,
    "A": t.Array(t.INTEGER),
    "H": t.Map(t.STRING, t.BIGINT),
    "R": t.struct_of([("P", t.INTEGER), ("Q", t.STRING)]),
}


def values(kind: t.SqlType) -> st.SearchStrategy[Any]:
    match kind:
        case t.Decimal(precision=precision, scale=scale):
            bound = 10**precision - 1
            return st.integers(-bound, bound).map(lambda n: Decimal(n).scaleb(-scale))
        case t.Array(item=item):
            return st.lists(st.none() | values(item), max_size=4)
        case t.Map(key=key, value=value):
            return st.dictionaries(values(key), st.none() | values(value), max_size=4)
        case t.Struct(fields=fields):
            return st.fixed_dictionaries({f.name: st.none() | values(f.type) for f in fields})
        case _:
            return _SIMPLE[kind]


_SIMPLE: Final[dict[t.SqlType, st.SearchStrategy[Any]]] = {
    t.BOOLEAN: st.booleans(),
    t.INTEGER: INTS,
    t.BIGINT: LONGS,
    t.DOUBLE: DOUBLES,
    t.STRING: TEXTS,
    t.BYTES: st.binary(max_size=6),
    t.DATE: st.integers(-100_000, 100_000),
    t.TIME: st.integers(0, 86_399_999),
    t.TIMESTAMP: st.integers(-(10**13), 10**13),
}
ROWS: Final = st.fixed_dictionaries({name: st.none() | values(kind) for name, kind in COLUMNS.items()})


def columns(kind: t.SqlType) -> st.SearchStrategy[e.Expression]:
    return st.sampled_from([e.Column(name, each) for name, each in COLUMNS.items() if each == kind])


def literals(kind: t.SqlType) -> st.SearchStrategy[e.Expression]:
    given = FINITE if kind == t.DOUBLE else values(kind)
    return st.builds(e.Literal, given, st.just(kind))


_NUMBERS: Final = (t.INTEGER, t.BIGINT, t.DOUBLE, AMOUNT)
_CASTS: Final = (t.INTEGER, t.BIGINT, t.DOUBLE, AMOUNT, t.STRING)


def booleans(depth: int) -> st.SearchStrategy[e.Expression]:
    if depth == 0:
        return columns(t.BOOLEAN) | literals(t.BOOLEAN)
    inner = booleans(depth - 1)
    pair = st.sampled_from(_NUMBERS).flatmap(
        lambda kind: st.tuples(numeric(kind, depth - 1), numeric(t.BIGINT, depth - 1))
    ) | st.tuples(texts(depth - 1), texts(depth - 1))
    return st.one_of(
        st.builds(lambda op, both: e.Comparison(op, *both), st.sampled_from(e.COMPARISONS), pair),
        st.builds(
            e.Logical, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=4).map(tuple)
        ),
        st.builds(e.Not, inner),
        st.builds(e.IsNull, st.sampled_from([e.Column(n, k) for n, k in COLUMNS.items()])),
        st.builds(e.In, texts(depth - 1), st.lists(literals(t.STRING), max_size=4).map(tuple)),
        st.builds(e.Like, texts(depth - 1), texts(0), st.sampled_from([None, "!"])),
    )


def numeric(kind: t.SqlType, depth: int) -> st.SearchStrategy[e.Expression]:
    """Of this type, but for decimals, which may be of any size."""
    if depth == 0:
        return columns(kind) | literals(kind)
    inner = numeric(kind, depth - 1)
    return st.one_of(
        inner,
        st.builds(e.Arithmetic, st.sampled_from(e.ARITHMETIC), inner, inner).filter(_small),
        st.builds(e.Negative, inner),
        st.builds(lambda c, one, other: e.Case((e.When(c, one),), other), booleans(depth - 1), inner, inner),
        st.sampled_from(_CASTS).flatmap(
            lambda source: st.builds(e.Cast, _of(source, depth - 1), st.just(kind))
        ),
    )


def _small(node: e.Expression) -> bool:
    return not isinstance(node.type, t.Decimal) or node.type.precision <= 38


def texts(depth: int) -> st.SearchStrategy[e.Expression]:
    if depth == 0:
        return columns(t.STRING) | literals(t.STRING)
    inner = texts(depth - 1)
    return st.one_of(
        inner,
        st.builds(lambda a, b: e.Arithmetic("+", a, b), inner, inner),
        st.builds(lambda a: call("UCASE", [a]), inner),
        st.builds(lambda a, b: call("COALESCE", [a, b]), inner, inner),
        st.sampled_from([k for k in COLUMNS.values() if k != t.BYTES]).flatmap(
            lambda kind: st.builds(e.Cast, columns(kind), st.just(t.STRING))
        ),
        st.just(e.Field(e.Column("R", COLUMNS["R"]), "Q")),
    )


def _of(kind: t.SqlType, depth: int) -> st.SearchStrategy[e.Expression]:
    return texts(depth) if kind == t.STRING else numeric(kind, depth)


def wholes(depth: int) -> st.SearchStrategy[e.Expression]:
    inner = numeric(t.INTEGER, depth)
    return st.one_of(
        st.builds(lambda i: e.Item(e.Column("A", COLUMNS["A"]), i), inner),
        st.builds(lambda k: e.Item(e.Column("H", COLUMNS["H"]), k), texts(depth)),
        st.builds(lambda a, b: e.ArrayOf((a, b), t.INTEGER), inner, inner),
        st.builds(lambda k, v: e.MapOf(((k, v),), t.STRING, t.INTEGER), texts(depth), inner),
        st.builds(lambda a, b: e.StructOf((("A", a), ("B", b))), inner, texts(depth)),
    )


EXPRESSIONS: Final = st.one_of(
    booleans(2), texts(2), wholes(1), st.sampled_from(_NUMBERS).flatmap(lambda kind: numeric(kind, 2))
)
