"""Text as tokens, and text as statements. The lexer is by hand because identifiers may be almost anything:
they may begin with a digit, contain `@`, and be most keywords.

A keyword is a token of its own type, an identifier an IDENTIFIER. `ARRAY`, `MAP` and `STRUCT` are keywords
only before the bracket that makes them one. AS before OF TIMESTAMP is AS_OF, and `(` before a lambda's
parameters is LAMBDA_OPEN, so that the grammar needs one token of lookahead and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lark import Token
from lark.lexer import Lexer

from penstock.sql.errors import SqlError
from penstock.sql.keywords import KEYWORDS, SYMBOLS

MAX_NESTING: Final = 200
"""Of brackets within brackets."""
MAX_TOKENS: Final = 50_000
"""Of one statement."""

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_@]*"
_TOKEN: Final = re.compile(
    r"(?P<space>\s+|--[^\r\n]*|/\*.*?\*/)"
    r"|(?P<open_comment>/\*)"
    r"|(?P<STRING>'(?:[^']|'')*')"
    r"|(?P<BACKTICK>`(?:[^`]|``)+`)"
    r'|(?P<QUOTED>"(?:[^"]|"")+")'
    r"|(?P<open_quote>['`\"])"
    r"|(?P<BLOCK>\$\$(?!\{).*?\$\$)"
    r"|(?P<DOUBLE_VALUE>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+(?![A-Za-z0-9_@]))"
    r"|(?P<DECIMAL_VALUE>[0-9]+\.[0-9]*|\.[0-9]+)"
    r"|(?P<INTEGER_VALUE>[0-9]+(?![A-Za-z0-9_@]))"
    r"|(?P<digit_name>[0-9][A-Za-z0-9_@]+)"
    rf"|(?P<name>{_NAME})"
    r"|(?P<variable>\$?\$\{[^}\s]*\})"
    r"|(?P<symbol>:=|=>|->|<>|!=|<=|>=|\|\||[<>=+\-*/%()\[\],.;])",
    re.DOTALL,
)
_LAMBDA_AHEAD: Final = re.compile(
    rf"\(\s*(?:{_NAME}|`(?:[^`]|``)+`)(?:\s*,\s*(?:{_NAME}|`(?:[^`]|``)+`))*\s*\)\s*=>", re.DOTALL
)
_BRACKET_AHEAD: Final = re.compile(r"(?:\s+|--[^\r\n]*|/\*.*?\*/)*([\[<(])", re.DOTALL)
_AS_OF: Final = re.compile(r"\s+OF\s+TIMESTAMP\s+'", re.IGNORECASE)
_MAKES_KEYWORD: Final = {"ARRAY": "[<", "MAP": "(<", "STRUCT": "(<"}


@dataclass(frozen=True)
class RawStatement:
    """A statement's text without its semicolon, and where it stands."""

    text: str
    line: int
    column: int


class Places:
    """Lines and columns of positions that only grow."""

    def __init__(self, text: str, line: int, column: int) -> None:
        self._text, self._line, self._start = text, line, 1 - column
        self._at = 0

    def __call__(self, position: int) -> tuple[int, int]:
        breaks = self._text.count("\n", self._at, position)
        if breaks:
            self._line += breaks
            self._start = self._text.rindex("\n", self._at, position) + 1
        self._at = position
        return self._line, position - self._start + 1


def split(text: str) -> list[RawStatement]:
    """The statements of a script. The last one may lack its semicolon; comments alone are no statement."""
    places = Places(text, 1, 1)
    found: list[RawStatement] = []
    begin: int | None = None
    where = (1, 1)
    for kind, start, end in matches(text, places):
        if kind == "space":
            continue
        if text[start] == ";" and kind == "symbol":
            if begin is not None:
                found.append(RawStatement(text[begin:start], *where))
            begin = None
        elif begin is None:
            begin, where = start, places(start)
        last = end
    if begin is not None:
        found.append(RawStatement(text[begin:last], *where))
    return found


def tokens(statement: RawStatement) -> Iterator[Token]:
    """The tokens of one statement, with lines and columns as in the script."""
    text = statement.text
    places = Places(text, statement.line, statement.column)
    depth = count = 0
    for kind, start, end in matches(text, places):
        if kind == "space":
            continue
        line, column = places(start)
        raw = text[start:end]
        if kind == "variable":
            raise SqlError(f"the variable {raw} is not defined: DEFINE it first", line, column)
        if raw in "([" and kind == "symbol":
            depth += 1
        elif raw in ")]" and kind == "symbol":
            depth -= 1
        count += 1
        if depth > MAX_NESTING or count > MAX_TOKENS:
            what = f"brackets are nested deeper than {MAX_NESTING} levels"
            if depth <= MAX_NESTING:
                what = f"the statement has more than {MAX_TOKENS} words"
            raise SqlError(f"{what}: split it up", line, column)
        yield Token(_kind(kind, raw, text, start, end), raw, start, line, column, line, column, end)


def _kind(kind: str, raw: str, text: str, start: int, end: int) -> str:
    if kind == "name":
        word = raw.upper()
        if word in _MAKES_KEYWORD:
            ahead = _BRACKET_AHEAD.match(text, end)
            return word if ahead and ahead[1] in _MAKES_KEYWORD[word] else "IDENTIFIER"
        if word == "AS" and _AS_OF.match(text, end):
            return "AS_OF"
        return word if word in KEYWORDS else "IDENTIFIER"
    if kind == "digit_name":
        return "IDENTIFIER"
    if kind == "symbol":
        if raw == "(" and _LAMBDA_AHEAD.match(text, start):
            return "LAMBDA_OPEN"
        return SYMBOLS[raw]
    return kind


def matches(text: str, places: Places) -> Iterator[tuple[str, int, int]]:
    """Each word with its kind, its begin and its end; space and comments are of the kind `space`."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise SqlError(f"{text[at]!r} cannot stand here: put names that contain it in `…`", *places(at))
        kind = str(found.lastgroup)
        if kind == "open_comment":
            raise SqlError("the comment has no end: add */", *places(at))
        if kind == "open_quote":
            raise SqlError(f"{text[at]} is not closed: add another {text[at]}", *places(at))
        yield kind, at, found.end()
        at = found.end()


class StatementLexer(Lexer):
    """What lark calls: the tokens of a `RawStatement`."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]
        return tokens(data)
