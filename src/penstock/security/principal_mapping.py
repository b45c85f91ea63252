"""`ssl.principal.mapping.rules`: from the distinguished name of a certificate to the name of a user."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_RULE: Final = re.compile(r"\s*(?:DEFAULT|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*")


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None
    """None for DEFAULT."""
    replacement: str
    case: str


class PrincipalMapping:
    """The first rule that matches decides. ValueError for rules that cannot be read."""

    def __init__(self, text: str = "DEFAULT") -> None:
        self._rules: list[_Rule] = []
        position = 0
        while position < len(text):
            match = _RULE.match(text, position)
            if match is None or (match.end() < len(text) and text[match.end()] != ","):
                raise ValueError(f"Invalid rule in ssl.principal.mapping.rules: {text[position:]!r}")
            pattern = None if match[1] is None else re.compile(match[1])
            self._rules.append(_Rule(pattern, re.sub(r"\$(\d)", r"\\\1", match[2] or ""), match[3] or ""))
            position = match.end() + 1

    def name_of(self, distinguished_name: str) -> str:
        """ValueError when no rule matches."""
        for rule in self._rules:
            if rule.pattern is None:
                return distinguished_name
            match = rule.pattern.fullmatch(distinguished_name)
            if match is not None:
                name = match.expand(rule.replacement)
                return name.lower() if rule.case == "L" else name.upper() if rule.case == "U" else name
        raise ValueError(f"no rule of ssl.principal.mapping.rules matches {distinguished_name!r}")
