"""Times in the letters of Java's `SimpleDateFormat`, as far as times need them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from penstock.cli.kafka.options import CommandFailed

_LETTERS: Final = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "a": "%p",
}
_TOKEN: Final = re.compile(r"'([^']*)'|([A-Za-z])\2*|.", re.DOTALL)


def formatted(moment_ms: int, pattern: str) -> str:
    """A time of this machine's zone; letters that are not known are refused."""
    moment = datetime.fromtimestamp(moment_ms / 1000)
    return "".join(_part(moment, moment_ms, token) for token in _TOKEN.finditer(pattern))


def _part(moment: datetime, moment_ms: int, token: re.Match[str]) -> str:
    text = token.group()
    if token.group(1) is not None:
        return token.group(1) or "'"
    if token.group(2) is None:
        return text
    if set(text) == {"S"}:
        return f"{moment_ms % 1000:0{len(text)}d}"
    if text not in _LETTERS:
        raise CommandFailed(f"--date-format: {text} is not known here; {', '.join(_LETTERS)} and S are")
    return moment.strftime(_LETTERS[text])
