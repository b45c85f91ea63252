"""What Tab offers: keywords, and the names of streams, tables, columns and functions that the server has."""

from __future__ import annotations

import time
from typing import Final

import click

from penstock.cli.ksql.requests import Server
from penstock.sql.keywords import KEYWORDS

FRESH_S: Final = 10.0
"""Names are asked for again when they are older."""
_QUESTIONS: Final = "SHOW STREAMS EXTENDED; SHOW TABLES EXTENDED; SHOW FUNCTIONS;"


class Completion:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._names: set[str] = set()
        self._asked = float("-inf")
        self._found: list[str] = []

    def __call__(self, word: str, number: int) -> str | None:
        """As readline asks: the matches of a word one after another."""
        if number == 0:
            self._found = self.matches(word)
        return self._found[number] if number < len(self._found) else None

    def matches(self, word: str) -> list[str]:
        if not word:
            return []
        self._refresh()
        wanted = word.upper()
        keywords = [f"{each} " for each in KEYWORDS if each.startswith(wanted)]
        names = [each for each in self._names if each.upper().startswith(wanted)]
        return sorted({*names, *keywords})

    def _refresh(self) -> None:
        if time.monotonic() - self._asked < FRESH_S:
            return
        self._asked = time.monotonic()
        try:
            streams, tables, functions = self._server.ksql(_QUESTIONS, {})
        except (click.ClickException, ValueError):  # without a server there are still the keywords
            return
        names = {f"{each['name']}(" for each in functions["functions"]}
        for answer in (streams, tables):
            for source in answer["sourceDescriptions"]:
                names |= {source["name"], *(field["name"] for field in source["fields"])}
        self._names = names
