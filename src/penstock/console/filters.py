"""Both forms of a filter: the small language, and after `py:` a Python expression."""

from __future__ import annotations

from penstock.console.filtering import LENGTH_MAX, Test, compile_filter
from penstock.console.filtering_python import PREFIX, compile_python


def compile_any(text: str) -> Test:
    """What says of a record whether it is wanted; refuses what cannot be read."""
    stripped = text.strip()
    if stripped.startswith(PREFIX) and len(stripped) <= LENGTH_MAX:
        return compile_python(stripped.removeprefix(PREFIX))
    return compile_filter(text)
