"""The text of values as Java gives it: what a cast to STRING shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.numbers import java_double_text

DAY_MS: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAYS_OF_400_YEARS: Final = 146_097


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970, for any year of Java's."""
    cycles, rest = divmod(days + _EPOCH - 1, _DAYS_OF_400_YEARS)
    found = date(1, 1, 1) + timedelta(days=rest)
    return found.year + 400 * cycles, found.month, found.day


def days_of(year: int, month: int, day: int) -> int:
    """The day since 1970; the reverse of `civil`. A ValueError for a day that is not there."""
    cycles, rest = divmod(year - 1, 400)
    return date(rest + 1, month, day).toordinal() - _EPOCH + cycles * _DAYS_OF_400_YEARS


def date_text(days: int) -> str:
    year, month, day = civil(days)
    shown = f"{year:04d}" if 0 <= year <= 9999 else (f"+{year}" if year > 0 else f"-{-year:04d}")
    return f"{shown}-{month:02d}-{day:02d}"


def time_text(millis: int) -> str:
    """LocalTime.toString of whole seconds: the seconds are left out where they are zero."""
    seconds = millis // 1000
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    return text if seconds % 60 == 0 else f"{text}:{seconds % 60:02d}"


def timestamp_text(millis: int) -> str:
    days, rest = divmod(millis, DAY_MS)
    clock = f"{rest // 3_600_000:02d}:{rest // 60_000 % 60:02d}:{rest // 1000 % 60:02d}.{rest % 1000:03d}"
    return f"{date_text(days)}T{clock}"


def plain_decimal(value: Decimal) -> str:
    """BigDecimal.toPlainString."""
    return f"{value:f}"


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


_SIMPLE: Final[dict[t.SqlType, Callable[[Any], str]]] = {
    t.BOOLEAN: _boolean_text,
    t.INTEGER: str,
    t.BIGINT: str,
    t.DOUBLE: java_double_text,
    t.STRING: str,
    t.DATE: date_text,
    t.TIME: time_text,
    t.TIMESTAMP: timestamp_text,
}


def text_of(value: Any, kind: t.SqlType) -> str:
    """A value that is not null, as text."""
    match kind:
        case t.Decimal():
            return plain_decimal(value)
        case t.Array(item=item):
            return f"[{', '.join(_inner(each, item) for each in value)}]"
        case t.Map(key=key, value=inner):
            entries = (f"{_inner(name, key)}={_inner(each, inner)}" for name, each in value.items())
            return f"{{{', '.join(entries)}}}"
        case t.Struct(fields=fields):
            shown = [(f, value.get(f.name)) for f in fields]
            return f"Struct{{{','.join(f'{f.name}={_inner(v, f.type)}' for f, v in shown if v is not None)}}}"
        case _ if kind in _SIMPLE:
            return _SIMPLE[kind](value)
        case _:
            raise EvaluationFailed(f"{kind} has no text")


def _inner(value: Any, kind: t.SqlType) -> str:
    return "null" if value is None else text_of(value, kind)
