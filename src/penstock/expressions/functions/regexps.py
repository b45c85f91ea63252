"""Functions of regular expressions, in Java's syntax (`java_regex.py`)."""

from __future__ import annotations

from penstock.expressions.functions.java_regex import java_pattern, replaced
from penstock.expressions.functions.registry import Functions

define = Functions()


@define("REGEXP_EXTRACT(STRING, STRING) -> STRING", "REGEXP_EXTRACT(STRING, STRING, INT) -> STRING")
def regexp_extract(pattern: str, text: str, group: int = 0) -> str | None:
    """The first match, or a group of it; null if there is none."""
    compiled = java_pattern(pattern)
    found = compiled.search(text)
    if found is None or group > compiled.groups:
        return None
    value: str | None = found.group(group)
    return value


@define(
    "REGEXP_EXTRACT_ALL(STRING, STRING) -> ARRAY<STRING>",
    "REGEXP_EXTRACT_ALL(STRING, STRING, INT) -> ARRAY<STRING>",
)
def regexp_extract_all(pattern: str, text: str, group: int = 0) -> list[str | None] | None:
    """All matches, or a group of each."""
    compiled = java_pattern(pattern)
    if group > compiled.groups:
        return None
    return [found.group(group) for found in compiled.finditer(text)]


@define("REGEXP_REPLACE(STRING, STRING, STRING) -> STRING")
def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Each match replaced; `$1` in the replacement is a group."""
    return replaced(pattern, text, replacement)


@define("REGEXP_SPLIT_TO_ARRAY(STRING, STRING) -> ARRAY<STRING>")
def regexp_split_to_array(text: str, pattern: str) -> list[str]:
    """The parts between matches; an empty pattern splits into characters."""
    if not pattern:
        return list(text)
    parts, last = [], 0
    for found in java_pattern(pattern).finditer(text):
        if found.start() == found.end() == 0 or (found.start() == found.end() == len(text)):
            continue
        parts.append(text[last : found.start()])
        last = found.end()
    return [*parts, text[last:]]
