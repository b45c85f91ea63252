"""Names and types of expressions, and errors at their places."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import scope, typed
from penstock.sql.parsing import parse_expression

COLUMNS = scope(
    {"ID": t.INTEGER, "S.NAME": t.STRING, "NAME": t.STRING, "TAGS": t.Array(t.STRING)},
    {"ADDRESS": t.struct_of([("STREET", t.STRING)])},
)


def analysed(text: str) -> e.Expression:
    return typed(parse_expression(text), COLUMNS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("5", t.INTEGER),
        ("2147483648", t.BIGINT),
        ("-2147483648", t.INTEGER),
        ("5.0", t.Decimal(2, 1)),
        ("0.05", t.Decimal(2, 2)),
        ("5e0", t.DOUBLE),
        ("id + 1.5", t.Decimal(12, 1)),
        ("id / 2", t.INTEGER),
        ("s.name || 'x'", t.STRING),
        ("CAST(NULL AS address)->street", t.STRING),
        ("CAST(id AS ARRAY<INT>)", None),
        ("ARRAY[1, 2.5]", t.Array(t.Decimal(11, 1))),
        ("MAP('a' := 1, 'b' := NULL)", t.Map(t.STRING, t.INTEGER)),
        ("CASE WHEN TRUE THEN 1 ELSE 2e0 END", t.DOUBLE),
        ("FILTER(tags, x => LEN(x) > id)", t.Array(t.STRING)),
    ],
)
def test_an_expression_has_its_type(text: str, kind: t.SqlType | None) -> None:
    if kind is None:
        with pytest.raises(SqlError):
            analysed(text)
    else:
        assert analysed(text).type == kind


def test_a_decimal_literal_keeps_its_digits() -> None:
    assert analysed("1.50") == e.Literal(Decimal("1.50"), t.Decimal(3, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 + nam", "line 1:5: Column 'NAM' cannot be resolved. Did you mean NAME?"),
        (
            "id +\n name",
            "line 1:1: Error processing expression: (ID + NAME). Unsupported arithmetic types. INTEGER",
        ),
        (
            "1 = 1 AND\n  UCAS(name) = 'A'",
            "line 2:3: Can't find any functions with the name 'UCAS'. Did you mean",
        ),
        ("CAST(id AS STRNG)", "line 1:12: Cannot resolve unknown type: STRNG. Did you mean STRING?"),
        ("CAST(id AS DECIMAL)", "line 1:12: DECIMAL needs a precision and a scale"),
        ("ARRAY[]", "line 1:1: Array constructor cannot be empty"),
        ("ARRAY[1, 'a']", 'line 1:1: invalid input syntax for type INTEGER: "a"'),
        ("MAP()", "line 1:1: Map constructor cannot be empty"),
        ("tags->x", "line 1:1: Expected STRUCT type, got: ARRAY<STRING>"),
        ("x => x", "line 1:1: A lambda stands only among the arguments"),
        ("id AT TIME ZONE 'UTC'", "line 1:1: AT TIME ZONE is not supported"),
        ("COUNT(*)", r"line 1:1: COUNT(*) is an aggregation"),
        ("id = name", "line 1:1: Cannot compare ID (INTEGER) to NAME (STRING) with EQUAL."),
        ("9223372036854775808", "line 1:1: Invalid numeric literal"),
        (
            "TRANSFORM(tags, x => x + 1)",
            "line 1:22: Error processing expression: (X + 1). Unsupported arithmetic types. STRING INTEGER",
        ),
    ],
)
def test_an_error_names_the_place_and_the_fix(text: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        analysed(text)
    assert str(error.value).startswith(message)
