"""ROWTIME, WINDOWSTART and WINDOWEND beside a text: `ROWTIME >= '2020-02-03'` means a time in UTC.

A text may leave out what stands behind the year, and may end with an offset such as `+0100` or `Z`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from penstock.expressions.errors import TypeMismatch
from penstock.sql import syntax as x

_NAMES: Final = frozenset({"ROWTIME", "WINDOWSTART", "WINDOWEND"})
_TIME: Final = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:T(?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,3}))?)?)?)?)?)?)?"
    r"(Z|[+-]\d{2}:?\d{2})?"
)


def with_times(names: tuple[x.Expression, ...]) -> tuple[x.Expression, ...]:
    """The operands of a comparison; texts are numbers where one of the operands is such a column."""
    if not any(isinstance(node, x.ColumnName) and node.name in _NAMES for node in names):
        return names
    return tuple(
        x.IntegerLiteral(_millis(node.value), at=node.at) if isinstance(node, x.StringLiteral) else node
        for node in names
    )


def _millis(text: str) -> int:
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError(text)
        year, month, day, hour, minute, second, fraction, zone = found.groups()
        when = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), tzinfo=UTC
        )
    except ValueError:
        raise TypeMismatch(
            f"Failed to parse timestamp '{text}': write it as 'yyyy-MM-dd''T''HH:mm:ss.SSS', and leave out "
            "what is zero"
        ) from None
    when += timedelta(seconds=int(second or 0), milliseconds=int((fraction or "0").ljust(3, "0")))
    if zone and zone != "Z":
        sign = 1 if zone[0] == "+" else -1
        digits = zone[1:].replace(":", "")
        when -= sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
