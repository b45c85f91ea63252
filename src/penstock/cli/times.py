"""Times as people write them on a command line, in milliseconds since 1970."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Final

import click

_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)(?: ago)?")
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
FORMS: Final = "10m (ten minutes ago), 2h, 3d, 2026-01-05T14:30 (UTC), now, or milliseconds since 1970"


def moment_ms(text: str) -> int:
    """Raises `UsageError` for what is no time; `FORMS` says which texts are."""
    text = text.strip()
    if text == "now":
        return round(time.time() * 1000)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return round(time.time() * 1000 - float(ago[1]) * _UNITS_MS[ago[2]])
    if text.isdecimal():
        return int(text)
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is no time. Write {FORMS}.") from None
    return round((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp() * 1000)


def moment(_context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Reads an option that is a time."""
    return None if text is None else moment_ms(text)
