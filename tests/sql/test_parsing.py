"""Statements become trees and trees become statements; what cannot be read is refused at its place."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings

from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError
from penstock.sql.keywords import FREE, RESERVED
from penstock.sql.lexer import split
from penstock.sql.parsing import parse, parse_expression, parse_statement
from penstock.sql.printing import expression
from penstock.sql.statement_printing import statement
from tests.golden.sql.generate import ERRORS, STATEMENTS, cases, printed, refused
from tests.sql.strategies import EXPRESSIONS
from tests.sql.strategies import STATEMENTS as RANDOM_STATEMENTS


@pytest.mark.parametrize(("text", "expected"), cases(STATEMENTS))
def test_a_statement_is_read_and_printed(text: str, expected: str) -> None:
    assert printed(text) == expected
    assert parse_statement(expected) == parse_statement(text)


@pytest.mark.parametrize(("text", "expected"), cases(ERRORS))
def test_what_is_wrong_is_named_with_its_place_and_the_fix(text: str, expected: str) -> None:
    assert refused(text) == expected


def test_every_kind_of_statement_has_a_golden_case() -> None:
    kinds = {type(parse_statement(text)) for text, _ in cases(STATEMENTS)}
    assert kinds == set(s.Statement.__subclasses__())


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS)
def test_an_expression_that_is_printed_parses_to_the_same_tree(node: x.Expression) -> None:
    assert parse_expression(expression(node)) == node


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(RANDOM_STATEMENTS)
def test_a_statement_that_is_printed_parses_to_the_same_tree(node: s.Statement) -> None:
    assert parse_statement(statement(node)) == node


def test_names_are_upper_case_unless_they_are_quoted() -> None:
    read = [parse_expression(text) for text in ("abc", "`abc`", '"aBc"', "a@b", "1st", "`a``b`")]
    names = [node.name for node in read if isinstance(node, x.ColumnName)]
    assert names == ["ABC", "abc", "aBc", "A@B", "1ST", "a`b"]


@pytest.mark.parametrize("word", sorted(FREE - {"ALL"}))
def test_a_free_keyword_is_a_name_of_columns_and_sources(word: str) -> None:
    query = parse_statement(f"SELECT {word}, t.{word} AS {word} FROM {word} WHERE {word} = 1")
    assert isinstance(query, s.Query)
    assert query.source.name == word


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_no_name_without_quotes(word: str) -> None:
    with pytest.raises(SqlError):
        parse_statement(f"DESCRIBE {word}")
    assert parse_statement(f"DESCRIBE `{word}`") == s.Describe("SOURCE", word)


def test_literals_have_their_types() -> None:
    kinds = [type(parse_expression(text)) for text in ("5", "5.0", "5e0", "'5'", "TRUE", "NULL", "-5", ".5")]
    assert kinds == [
        x.IntegerLiteral,
        x.DecimalLiteral,
        x.DoubleLiteral,
        x.StringLiteral,
        x.BooleanLiteral,
        x.NullLiteral,
        x.IntegerLiteral,
        x.DecimalLiteral,
    ]


def test_precedence_is_that_of_sql() -> None:
    same = [
        ("a OR b AND NOT c = d", "a OR (b AND (NOT (c = d)))"),
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("-a * b", "(-a) * b"),
        ("a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"),
    ]
    assert [parse_expression(one) == parse_expression(other) for one, other in same] == [True] * len(same)


def test_statements_are_split_outside_of_strings_and_comments() -> None:
    script = "SELECT ';' FROM a; -- no; end\n/* ; */ SELECT `;` FROM b ;;\n  SHOW TOPICS"
    found = split(script)
    assert [(statement.line, statement.column) for statement in found] == [(1, 1), (2, 9), (3, 3)]
    assert [type(each).__name__ for each in parse(script)] == ["Query", "Query", "Show"]


def test_positions_are_those_of_the_script() -> None:
    query = parse("SHOW TOPICS;\n\n  SELECT a,\n    b + 1 FROM c;")[1]
    assert isinstance(query, s.Query)
    assert [tuple(item.at) for item in query.items] == [(3, 10), (4, 5)]
    assert query.at == (3, 3)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "1" + ")" * 5_000,
        "ARRAY[" * 5_000 + "1" + "]" * 5_000,
        " + ".join(["a"] * 5_000),
        "NOT " * 5_000 + "a",
        "- " * 5_000 + "a",
        "a" + "->b" * 5_000,
        "CASE WHEN a THEN " * 5_000 + "1" + " END" * 5_000,
    ],
    ids=["parentheses", "arrays", "sums", "nots", "signs", "fields", "cases"],
)
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(SqlError, match="nested deeper than 200"):
        parse_expression(text)
    assert time.monotonic() - began < 5


def test_a_huge_in_list_and_a_long_chain_are_read() -> None:
    items = parse_expression(f"a IN ({', '.join(map(str, range(10_000)))})")
    assert isinstance(items, x.InList)
    assert len(items.items) == 10_000
    chain = parse_expression(" OR ".join(f"a = {n}" for n in range(5_000)))
    assert isinstance(chain, x.Chain)
    assert parse_expression(expression(chain)) == chain


def test_ten_thousand_statements_are_read() -> None:
    script = "".join(f"SELECT a + {n} FROM t WHERE c;\n" for n in range(10_000))
    began = time.monotonic()
    assert len(parse(script)) == 10_000
    assert time.monotonic() - began < 60


def test_a_statement_of_too_many_words_is_refused() -> None:
    with pytest.raises(SqlError, match="more than 50000 words"):
        parse_expression("f(" + "a," * 26_000 + "a)")
