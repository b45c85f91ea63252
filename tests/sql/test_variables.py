"""`${name}` in statements."""

from __future__ import annotations

import pytest

from penstock.sql.errors import SqlError
from penstock.sql.lexer import RawStatement, split
from penstock.sql.variables import substituted

KNOWN = {"topic": "my_topic", "n": "3", "quote": "it's", "name": "`lower`", "text": "'a b'", "less": "-5"}


def result(text: str) -> str:
    return substituted(RawStatement(text, 1, 1), KNOWN).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM ${topic}", "SELECT * FROM my_topic"),
        ("PARTITIONS=${n}, LOW=${less}", "PARTITIONS=3, LOW=-5"),
        ("KAFKA_TOPIC='${TOPIC}_x'", "KAFKA_TOPIC='my_topic_x'"),
        ("SELECT `${topic}`", "SELECT `my_topic`"),
        ("SELECT '${quote}'", "SELECT 'it''s'"),
        ("SELECT ${name}, ${text}", "SELECT `lower`, 'a b'"),
        ("SELECT '$${topic}'", "SELECT '${topic}'"),
        ("SELECT 1 -- ${unknown}", "SELECT 1 -- ${unknown}"),
        ("SELECT 1 /* ${unknown} */", "SELECT 1 /* ${unknown} */"),
    ],
)
def test_variables_stand_in_literals_and_names_and_not_in_comments(text: str, expected: str) -> None:
    assert result(text) == expected


def test_an_unknown_variable_is_refused_at_its_place() -> None:
    with pytest.raises(
        SqlError, match=r"line 2:3: the variable nope is not defined: DEFINE nope = '…' first"
    ):
        substituted(split("SELECT\n  ${nope} FROM a")[0], KNOWN)


@pytest.mark.parametrize("value", ["a, b", "x; DROP TABLE t", "1 + 1", "", "a -- b", "(a)", "'a', 'b'"])
def test_a_value_adds_no_words_to_a_statement(value: str) -> None:
    with pytest.raises(SqlError, match="not one word"):
        substituted(RawStatement("SELECT ${v} FROM t", 1, 1), {"v": value})
    inside = substituted(RawStatement("SELECT '${v}' FROM t", 1, 1), {"v": value}).text
    assert len(split(inside)) == 1
