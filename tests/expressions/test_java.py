"""Numbers, dates, regular expressions and text are Java's. `tests/golden/functions/generate.py` asks Java."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from penstock.expressions import numbers
from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions import arithmetic, dates, texts, urls
from penstock.expressions.functions.java_regex import java_pattern, replaced
from penstock.expressions.java_text import plain_decimal
from penstock.expressions.numbers import java_double_text
from tests.golden.functions.generate import GOLDENS

ROWS: list[tuple[list[str], str]] = [(case, answer) for case, answer in json.loads(GOLDENS.read_text())]
NOT_SUPPORTED = "b"
"""A pattern letter that Java's documentation does not have."""


def rows(kind: str) -> list[tuple[list[str], str]]:
    return [(case[1:], answer) for case, answer in ROWS if case[0] == kind]


def or_error(function: Callable[..., Any], *arguments: Any) -> str:
    try:
        return str(function(*arguments))
    except EvaluationFailed:
        return "!error"


def test_doubles_have_javas_text() -> None:
    for (bits,), expected in rows("double"):
        assert java_double_text(struct.unpack(">d", bytes.fromhex(bits))[0]) == expected


@pytest.mark.parametrize(("case", "expected"), rows("format"))
def test_dates_are_formatted_as_by_java(case: list[str], expected: str) -> None:
    pattern, millis, zone = case
    if pattern == NOT_SUPPORTED:
        expected = "!error"
    assert or_error(dates.format_timestamp, int(millis), pattern, zone) == expected


@pytest.mark.parametrize(("case", "expected"), rows("parse"))
def test_dates_are_parsed_as_by_java(case: list[str], expected: str) -> None:
    pattern, text = case
    assert or_error(dates.parse_timestamp, text, pattern) == expected


@pytest.mark.parametrize(("case", "expected"), rows("find"))
def test_regular_expressions_match_as_in_java(case: list[str], expected: str) -> None:
    pattern, text = case
    if "&&" in pattern:
        expected = "!error"  # intersections of classes are refused
    found = or_error(lambda: "".join(f"<{match.group()}>" for match in java_pattern(pattern).finditer(text)))
    assert found == expected


@pytest.mark.parametrize(("case", "expected"), rows("replace"))
def test_replacements_name_groups_as_in_java(case: list[str], expected: str) -> None:
    pattern, text, replacement = case
    assert or_error(replaced, pattern, text, replacement) == expected


def test_decimals_are_big_decimals_rounded_half_up() -> None:
    for (operator, left, right, scale, precision), expected in rows("decimal"):
        kind = t.Decimal(int(precision) + 10, int(scale))
        if operator == "/":
            kind = t.Decimal(int(precision), int(scale))
        try:
            value = numbers.decimal_arithmetic(operator, Decimal(left), Decimal(right), kind)
        except EvaluationFailed:
            assert expected == "!error"
            continue
        assert plain_decimal(value) == expected


MATH: dict[str, Callable[[float, float], Any]] = {
    "round": lambda x, y: arithmetic.round_(x),
    "ceil": lambda x, y: java_double_text(arithmetic.ceil(x)),
    "floor": lambda x, y: java_double_text(arithmetic.floor(x)),
    "int": lambda x, y: numbers.double_to_int(x),
    "long": lambda x, y: numbers.double_to_long(x),
    "mod": lambda x, y: java_double_text(numbers.double_remainder(x, y)),
    "divide": lambda x, y: java_double_text(numbers.double_division(x, y)),
}


@pytest.mark.parametrize(("case", "expected"), [row for row in rows("math") if row[0][0] in MATH])
def test_doubles_are_computed_as_in_java(case: list[str], expected: str) -> None:
    name, left, right = case
    assert str(MATH[name](float(left), float(right))) == expected


@pytest.mark.parametrize("kind", ["upper", "lower", "length", "encode"])
def test_text_is_javas(kind: str) -> None:
    functions = {
        "upper": texts.ucase,
        "lower": texts.lcase,
        "length": texts.len_,
        "encode": urls.url_encode_param,
    }
    for (word,), expected in rows(kind):
        assert str(functions[kind](word)) == expected
