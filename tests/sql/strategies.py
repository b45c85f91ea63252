"""Random syntax trees: every kind of expression and statement."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.keywords import KEYWORDS

NAMES: Final = st.sampled_from(
    ["A", "B@C", "lower", "1X", "has space", "back`tick", *sorted(KEYWORDS)]
) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4)
TEXTS: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
COUNTS: Final = st.integers(0, 10**6)
LITERALS: Final = st.one_of(
    st.builds(x.NullLiteral),
    st.builds(x.BooleanLiteral, st.booleans()),
    st.builds(x.IntegerLiteral, st.integers(-(2**63), 2**63 - 1)),
    st.builds(x.DecimalLiteral, st.decimals(-(10**9), 10**9, places=3)),
    st.builds(x.DecimalLiteral, st.just(Decimal("5"))),
    st.builds(x.DoubleLiteral, st.floats(allow_nan=False, allow_infinity=False).filter(lambda v: v != 0)),
    st.builds(x.StringLiteral, TEXTS),
)


def listed(part: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(part, min_size=least, max_size=3).map(tuple)


TYPES: Final = st.recursive(
    st.builds(x.TypeName, NAMES.filter(lambda name: name not in ("ARRAY", "MAP", "STRUCT")), listed(COUNTS)),
    lambda inner: st.one_of(
        inner.map(lambda item: x.TypeName("ARRAY", (), (item,))),
        st.tuples(inner, inner).map(lambda pair: x.TypeName("MAP", (), pair)),
        listed(st.tuples(NAMES, inner)).map(
            lambda fields: x.TypeName("STRUCT", (), tuple(f[1] for f in fields), tuple(f[0] for f in fields))
        ),
    ),
    max_leaves=4,
)


def _larger(inner: st.SearchStrategy[x.Expression]) -> st.SearchStrategy[x.Expression]:
    whens = listed(st.builds(x.When, inner, inner), 1)
    arguments = inner | st.builds(x.LambdaFunction, listed(NAMES, 1), inner)
    comparisons = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
    return st.one_of(
        st.builds(x.FieldOf, inner, NAMES),
        st.builds(x.ItemOf, inner, inner),
        st.builds(x.FunctionCall, NAMES, listed(arguments)),
        st.builds(x.FunctionCall, NAMES, st.just(()), st.just(True)),
        st.builds(x.Binary, st.sampled_from(["+", "-", "*", "/", "%", "||"]), inner, inner),
        st.builds(
            x.Unary, st.sampled_from(["+", "-"]), inner.filter(lambda node: not hasattr(node, "value"))
        ),
        st.builds(x.Comparison, st.sampled_from(comparisons), inner, inner),
        st.builds(
            x.Chain, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=3).map(tuple)
        ),
        st.builds(x.Not, inner),
        st.builds(x.IsNull, inner, st.booleans()),
        st.builds(x.Between, inner, inner, inner, st.booleans()),
        st.builds(x.InList, inner, listed(inner, 1), st.booleans()),
        st.builds(x.Like, inner, inner, st.none() | st.sampled_from("!'"), st.booleans()),
        st.builds(x.Case, whens, st.none() | inner, st.none() | inner),
        st.builds(x.CastTo, inner, TYPES),
        st.builds(x.ArrayLiteral, listed(inner)),
        st.builds(x.MapLiteral, listed(st.tuples(inner, inner))),
        st.builds(x.StructLiteral, listed(st.tuples(NAMES, inner))),
        st.builds(x.AtTimeZone, inner, TEXTS),
    )


EXPRESSIONS: Final = st.recursive(
    LITERALS | st.builds(x.ColumnName, NAMES, st.none() | NAMES), _larger, max_leaves=8
)
DURATIONS: Final = st.builds(s.Duration, COUNTS, st.sampled_from(sorted(s.UNITS)))
PROPERTIES: Final = listed(
    st.builds(s.Property, NAMES, LITERALS) | st.builds(s.Property, TEXTS, LITERALS, st.just(True))
)
CONSTRAINTS: Final = st.sampled_from([None, "KEY", "PRIMARY KEY", "HEADERS"])
COLUMNS: Final = listed(
    st.builds(s.ColumnDefinition, NAMES, TYPES, CONSTRAINTS)
    | st.builds(s.ColumnDefinition, NAMES, TYPES, st.just("HEADER"), TEXTS),
    1,
)
ITEMS: Final = st.one_of(
    st.builds(s.SelectItem, EXPRESSIONS, st.none() | NAMES),
    st.just(s.SelectItem(star=True)),
    st.builds(s.SelectItem, st.none(), st.none(), st.just(True), NAMES),
    st.builds(s.SelectItem, EXPRESSIONS, st.none(), st.just(True)),
)
SOURCES: Final = st.builds(s.Source, NAMES, st.none() | NAMES)
WITHINS: Final = st.builds(s.Within, DURATIONS, st.none() | DURATIONS, st.none() | DURATIONS)
JOINS: Final = st.builds(
    s.Join, st.sampled_from(["INNER", "LEFT", "RIGHT", "FULL"]), SOURCES, EXPRESSIONS, st.none() | WITHINS
)
MAYBE: Final = st.none() | DURATIONS
WINDOWS: Final = st.one_of(
    st.builds(s.Window, st.just("TUMBLING"), DURATIONS, st.none(), MAYBE, MAYBE),
    st.builds(s.Window, st.just("HOPPING"), DURATIONS, DURATIONS, MAYBE, MAYBE),
    st.builds(s.Window, st.just("SESSION"), DURATIONS, st.none(), MAYBE, MAYBE),
)
QUERIES: Final = st.builds(
    s.Query,
    listed(ITEMS, 1),
    SOURCES,
    listed(JOINS),
    st.none() | WINDOWS,
    st.none() | EXPRESSIONS,
    listed(EXPRESSIONS),
    listed(EXPRESSIONS),
    st.none() | EXPRESSIONS,
    st.sampled_from([None, "CHANGES", "FINAL"]),
    st.none() | COUNTS,
)
KINDS: Final = st.sampled_from(["STREAM", "TABLE"])
FLAG: Final = st.booleans()
VALUES: Final = listed(EXPRESSIONS, 1)
SHOWN: Final = ["PROPERTIES", "TYPES", "VARIABLES", "FUNCTIONS", "TOPICS", "STREAMS", "CONNECTORS", "PLUGINS"]
CREATED: Final = st.builds(s.CreateSource, KINDS, NAMES, COLUMNS | st.just(()), PROPERTIES, FLAG, FLAG, FLAG)
STATEMENTS: Final = st.one_of(
    QUERIES,
    CREATED,
    st.builds(s.CreateAsSelect, KINDS, NAMES, QUERIES, PROPERTIES, FLAG, FLAG),
    st.builds(s.AlterSource, KINDS, NAMES, COLUMNS),
    st.builds(s.DropSource, KINDS, NAMES, FLAG, FLAG),
    st.builds(s.CreateType, NAMES, TYPES, FLAG),
    st.builds(s.DropType, NAMES, FLAG),
    st.builds(s.InsertSelect, NAMES, QUERIES, PROPERTIES),
    st.builds(s.InsertValues, NAMES, listed(NAMES), VALUES),
    st.builds(s.ManageQuery, st.sampled_from(["TERMINATE", "PAUSE", "RESUME"]), st.none() | NAMES),
    st.builds(s.Explain, NAMES) | st.builds(s.Explain, st.none(), QUERIES),
    st.builds(s.Show, st.sampled_from(SHOWN)),
    st.builds(s.Show, st.just("TOPICS"), FLAG, FLAG),
    st.builds(s.Show, st.just("CONNECTORS"), connector_kind=st.sampled_from(["SOURCE", "SINK"])),
    st.builds(s.Describe, st.just("SOURCE"), NAMES, FLAG),
    st.builds(s.Describe, st.sampled_from(["STREAMS", "TABLES"]), st.none(), FLAG),
    st.builds(s.Describe, st.sampled_from(["FUNCTION", "CONNECTOR"]), NAMES),
    st.builds(s.PrintTopic, TEXTS, FLAG, st.none() | COUNTS, st.none() | COUNTS),
    st.builds(s.SetProperty, TEXTS, TEXTS),
    st.builds(s.UnsetProperty, TEXTS),
    st.builds(s.AlterSystem, TEXTS, TEXTS),
    st.builds(s.DefineVariable, NAMES, TEXTS),
    st.builds(s.UndefineVariable, NAMES),
    st.builds(s.CreateConnector, st.sampled_from(["SOURCE", "SINK"]), NAMES, PROPERTIES, FLAG),
    st.builds(s.DropConnector, NAMES, FLAG),
    st.builds(s.AssertTopic, TEXTS, PROPERTIES, MAYBE, FLAG),
    st.builds(s.AssertSchema, st.none() | TEXTS, st.none() | COUNTS, MAYBE, FLAG),
    st.builds(s.AssertValues, NAMES, listed(NAMES), VALUES, FLAG),
    st.builds(s.AssertSource, st.builds(s.CreateSource, KINDS, NAMES, COLUMNS, PROPERTIES)),
    st.builds(s.RunScript, TEXTS),
)
