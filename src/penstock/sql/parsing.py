"""Statements and expressions from text. Errors name line, column, what was found and what may stand there."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Any, Final

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from penstock.sql.errors import SqlError
from penstock.sql.keywords import (
    CONSTRUCTORS,
    FREE,
    KEYWORDS,
    NOT_A_SOURCE,
    NOT_A_SOURCE_ALIAS,
    NOT_AN_ALIAS,
    RESERVED,
    SYMBOLS,
)
from penstock.sql.lexer import RawStatement, StatementLexer, split
from penstock.sql.statement_building import StatementBuilder
from penstock.sql.statements import Statement
from penstock.sql.syntax import Expression

_NAMES: Final = ("IDENTIFIER", "BACKTICK", "QUOTED")
_VALUES: Final = ("STRING", "INTEGER_VALUE", "DECIMAL_VALUE", "DOUBLE_VALUE", "LAMBDA_OPEN", "BLOCK")
_SHOWN: Final = {name: f"'{symbol}'" for symbol, name in SYMBOLS.items()} | {
    "IDENTIFIER": "a name",
    "STRING": "a string",
    "INTEGER_VALUE": "a whole number",
    "DECIMAL_VALUE": "a number",
    "DOUBLE_VALUE": "a number",
    "LAMBDA_OPEN": "'('",
    "BLOCK": "$$ … $$",
    "$END": "the end of the statement",
}
_HIDDEN: Final = frozenset({"AS_OF", "BACKTICK", "QUOTED"})
_MOST_SHOWN: Final = 24


def parse(text: str) -> list[Statement]:
    """All statements of a script."""
    return [parse_statement(statement) for statement in split(text)]


def parse_statement(statement: RawStatement | str) -> Statement:
    if isinstance(statement, str):
        found = split(statement)
        if len(found) != 1:
            raise SqlError(f"one statement is expected here, not {len(found)}", 1, 1)
        statement = found[0]
    parsed: Statement = _parsed("statement", statement)
    return parsed


def parse_expression(text: str) -> Expression:
    """An expression alone, as the DSL and tests take it."""
    parsed: Expression = _parsed("expression", RawStatement(text, 1, 1))
    return parsed


def _parsed(start: str, statement: RawStatement) -> Any:
    try:
        return _parser().parse(statement, start=start)
    except UnexpectedToken as error:
        raise _refused(error.token, error.accepts or error.expected, statement) from None
    except UnexpectedInput as error:
        raise SqlError(str(error), statement.line, statement.column) from None
    except VisitError as error:
        raise error.orig_exc from None


@cache
def _parser() -> Lark:
    return Lark(
        _grammar(),
        parser="lalr",
        lexer=StatementLexer,
        start=["statement", "expression"],
        transformer=StatementBuilder(),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def _grammar() -> str:
    text = (files("penstock.sql") / "grammar.lark").read_text()
    tokens = " ".join(sorted({*KEYWORDS, *SYMBOLS.values(), *_NAMES, *_VALUES, "AS_OF"}))
    rules = [
        ("name", FREE - {"ALL"}),
        ("alias_name", FREE - {"ALL"} - NOT_AN_ALIAS),
        ("source_alias_name", FREE - {"ALL"} - NOT_A_SOURCE_ALIAS),
        ("source_name", FREE - {"ALL"} - NOT_A_SOURCE),
    ]
    listed = "\n".join(f"{rule}: {' | '.join([*_NAMES, *sorted(words)])}" for rule, words in rules)
    return f"{text}\n{listed}\n%declare {tokens}\n"


def _refused(token: Token, expected: Collection[str], statement: RawStatement) -> SqlError:
    hidden = _HIDDEN | (FREE if "IDENTIFIER" in expected else set())  # all of those are names there
    wanted = sorted({_SHOWN.get(name, name) for name in set(expected) - hidden})
    more = ", …" if len(wanted) > _MOST_SHOWN else ""
    could = f"expected {', '.join(wanted[:_MOST_SHOWN])}{more}"
    if token.type == "$END":
        line, column = _end(statement)
        return SqlError(f"the statement ends too early: {could}", line, column)
    hint = ""
    if token.type in RESERVED and "IDENTIFIER" in expected:
        hint = (
            f'. "{token}" is a reserved keyword and it can\'t be used as an identifier. '
            f"You can use it as an identifier by escaping it as '`{token}`'"
        )
    return SqlError(f"mismatched input '{token}': {could}{hint}", token.line or 0, token.column or 0)


def _end(statement: RawStatement) -> tuple[int, int]:
    lines = statement.text.split("\n")
    if len(lines) == 1:
        return statement.line, statement.column + len(lines[0])
    return statement.line + len(lines) - 1, len(lines[-1]) + 1


assert not RESERVED & FREE, "a word is reserved or free"
assert not CONSTRUCTORS & FREE, "ARRAY, MAP and STRUCT are names for the lexer"
