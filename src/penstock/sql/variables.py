"""`${name}` in a statement. `$${name}` stands for the text `${name}` itself.

Within a string or a quoted identifier the value becomes a part of it, with its quotes doubled. Elsewhere the
value must be one word: a name, a number, a string, TRUE, FALSE or NULL. A value can therefore never add
words to a statement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.sql.errors import SqlError
from penstock.sql.lexer import Places, RawStatement, matches

_VARIABLE: Final = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ONE_WORD: Final = (
    "name",
    "digit_name",
    "STRING",
    "BACKTICK",
    "QUOTED",
    "INTEGER_VALUE",
    "DECIMAL_VALUE",
    "DOUBLE_VALUE",
)


def substituted(statement: RawStatement, variables: Mapping[str, str]) -> RawStatement:
    """The statement with the values of its variables. Names of variables are case-insensitive."""
    if "${" not in statement.text:
        return statement
    known = {name.upper(): value for name, value in variables.items()}
    places = Places(statement.text, statement.line, statement.column)
    parts: list[str] = []
    for kind, start, end in matches(statement.text, places):
        raw = statement.text[start:end]
        if kind == "variable":
            parts.append(_word(raw, known, places(start)))
        elif kind in ("STRING", "BACKTICK", "QUOTED"):
            parts.append(_inside(raw, known, places(start)))
        else:
            parts.append(raw)
    return RawStatement("".join(parts), statement.line, statement.column)


def _value(name: str, known: Mapping[str, str], where: tuple[int, int]) -> str:
    if name.upper() not in known:
        raise SqlError(f"the variable {name} is not defined: DEFINE {name} = '…' first", *where)
    return known[name.upper()]


def _inside(raw: str, known: Mapping[str, str], where: tuple[int, int]) -> str:
    quote = raw[0]

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        return _value(found[2], known, where).replace(quote, quote * 2)

    return _VARIABLE.sub(value, raw)


def _word(raw: str, known: Mapping[str, str], where: tuple[int, int]) -> str:
    found = _VARIABLE.fullmatch(raw)
    if found is None or found[1]:
        raise SqlError(f"{raw} is no variable: names have letters, digits and _", *where)
    value = _value(found[2], known, where)
    words = [kind for kind, _, _ in matches(value, Places(value, *where))]
    if value.startswith("-"):
        words = words[1:]  # a negative number
    if len(words) != 1 or words[0] not in _ONE_WORD:
        raise SqlError(
            f"the variable {found[2]} is {value!r:.80}, which is not one word: put ${{{found[2]}}} in quotes",
            *where,
        )
    return value
