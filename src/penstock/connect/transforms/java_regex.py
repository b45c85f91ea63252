"""Java's regular expressions, as far as Python's are the same, and Java's replacement texts."""

from __future__ import annotations

import re
from collections.abc import Callable

from penstock.connect.errors import ConfigError


def compiled(setting: str, text: str) -> re.Pattern[str]:
    """`(?<name>…)` is Java's way to name a group. What Python does not know is refused."""
    try:
        return re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", text))
    except re.error as error:
        raise ConfigError(setting, text, f"Invalid regex: {error}") from error


def replacement(text: str, pattern: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    """`$1` and `${name}` are groups, a backslash makes the next character plain. As in Java, `$12` is
    group 12 where there is one, else group 1 and a 2."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            parts.append(text[at + 1])
            at += 2
        elif character == "$":
            group, at = _group(text, at + 1, pattern)
            parts.append(group)
        else:
            parts.append(character)
            at += 1
    return lambda found: "".join(each if isinstance(each, str) else found.group(each) or "" for each in parts)


def _group(text: str, at: int, pattern: re.Pattern[str]) -> tuple[int, int]:
    if text[at : at + 1] == "{":
        end = text.find("}", at)
        name = text[at + 1 : end]
        if end < 0 or name not in pattern.groupindex:
            raise ConfigError("replacement", text, f"No group with name {{{name}}}")
        return pattern.groupindex[name], end + 1
    if not text[at : at + 1].isdigit():
        raise ConfigError("replacement", text, "Illegal group reference")
    group, at = int(text[at]), at + 1
    if group > pattern.groups:
        raise ConfigError("replacement", text, f"No group {group}")
    while text[at : at + 1].isdigit() and group * 10 + int(text[at]) <= pattern.groups:
        group, at = group * 10 + int(text[at]), at + 1
    return group, at
