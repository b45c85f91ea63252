"""The text of an array of PostgreSQL, such as `{1,NULL,"a,b"}`, as its items."""

from __future__ import annotations

from typing import Any

from penstock.connect.errors import DataError


def array_items(text: str) -> list[Any]:
    """Items as text, None for NULL, lists for arrays within arrays."""
    body = text[text.index("{") :]  # bounds may stand before it: [0:1]={1,2}
    items, end = _items(body, 1)
    if end != len(body):
        raise DataError("an array of the server cannot be read")
    return items


def _items(text: str, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while True:
        if text[at] == "}":
            return found, at + 1
        if text[at] == ",":
            at += 1
        if text[at] == "{":
            inner, at = _items(text, at + 1)
            found.append(inner)
        elif text[at] == '"':
            item, at = _quoted(text, at + 1)
            found.append(item)
        else:
            end = at
            while text[end] not in ",}":
                end += 1
            word, at = text[at:end], end
            found.append(None if word.upper() == "NULL" else word)


def _quoted(text: str, at: int) -> tuple[str, int]:
    letters = []
    while text[at] != '"':
        at += text[at] == "\\"
        letters.append(text[at])
        at += 1
    return "".join(letters), at + 1
