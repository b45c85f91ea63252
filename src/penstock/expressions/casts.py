"""CAST: which types become which, and how. A text that cannot be read fails the row."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from penstock.expressions import numbers
from penstock.expressions import types as t
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.java_text import DAY_MS, days_of, text_of

Convert = Callable[[Any], Any]


def can_cast(source: t.SqlType, target: t.SqlType) -> bool:
    if source in (target, t.NULL) or (isinstance(source, t.Decimal) and isinstance(target, t.Decimal)):
        return True
    if target == t.STRING:
        return source != t.BYTES and not isinstance(source, t.Function)
    if t.is_numeric(source):
        return t.is_numeric(target)
    if source == t.STRING:
        return t.is_numeric(target) or target == t.BOOLEAN or t.is_time(target)
    match source, target:
        case t.Array(item=one), t.Array(item=other):
            return can_cast(one, other)
        case t.Map(key=key, value=value), t.Map(key=other_key, value=other_value):
            return can_cast(key, other_key) and can_cast(value, other_value)
        case t.Struct(), t.Struct():
            return all(can_cast(source.field(f.name) or t.NULL, f.type) for f in target.fields)
        case _:
            return (source, target) in _TIMES


def cast_function(source: t.SqlType, target: t.SqlType) -> Convert:
    """What turns a value that is not null into the target's. Expects `can_cast`."""
    if source == target:
        return _same
    if target == t.STRING:
        return lambda value: text_of(value, source)
    if isinstance(target, t.Decimal):
        return _to_decimal(source, target)
    if source == t.STRING:
        return _FROM_TEXT[target]
    if (source, target) in _TIMES:
        return _TIMES[source, target]
    match source, target:
        case t.Array(item=one), t.Array(item=other):
            each = null_safe(cast_function(one, other))
            return lambda value: [each(item) for item in value]
        case t.Map(key=key, value=inner), t.Map(key=other_key, value=other_inner):
            name = null_safe(cast_function(key, other_key))
            item = null_safe(cast_function(inner, other_inner))
            return lambda value: {name(k): item(v) for k, v in value.items()}
        case t.Struct(), t.Struct():
            return _to_struct(source, target)
        case _:
            return _NUMBERS[target](source)


def null_safe(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value


def _to_struct(source: t.Struct, target: t.Struct) -> Convert:
    casts = [
        (f.name, null_safe(cast_function(kind, f.type)) if (kind := source.field(f.name)) else _same)
        for f in target.fields
    ]
    return lambda value: {name: convert(value.get(name)) for name, convert in casts}


def _to_decimal(source: t.SqlType, target: t.Decimal) -> Convert:
    if source == t.STRING:
        return lambda value: numbers.fitted(_decimal_of(value), target)
    return lambda value: numbers.fitted(numbers.exact_decimal(value), target)


def _decimal_of(text: str) -> Decimal:
    if not _DECIMAL.fullmatch(text.strip()):
        raise EvaluationFailed(f"Cannot read {text!r} as DECIMAL")
    try:
        return Decimal(text.strip())
    except InvalidOperation as error:
        raise EvaluationFailed(f"Cannot read {text!r} as DECIMAL") from error


_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


def _whole_of(name: str, low: int, high: int) -> Convert:
    def convert(text: str) -> int:
        if not _WHOLE.fullmatch(text) or len(text) > 40 or not low <= int(text) <= high:
            raise EvaluationFailed(f"Cannot read {text!r} as {name}")
        return int(text)

    return convert


def double_of(text: str) -> float:
    if not _DECIMAL.fullmatch(text.strip()):
        raise EvaluationFailed(f"Cannot read {text!r} as DOUBLE")
    return float(text)


def _to_int(source: t.SqlType) -> Convert:
    if source == t.DOUBLE:
        return numbers.double_to_int
    return lambda value: numbers.wrap_int(int(value))


def _to_long(source: t.SqlType) -> Convert:
    if source == t.DOUBLE:
        return numbers.double_to_long
    return lambda value: numbers.wrap_long(int(value))


def _to_double(source: t.SqlType) -> Convert:
    return _double


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


_NUMBERS: Final[dict[t.SqlType, Callable[[t.SqlType], Convert]]] = {
    t.INTEGER: _to_int,
    t.BIGINT: _to_long,
    t.DOUBLE: _to_double,
}

_PARTIAL: Final = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2}))?)?"
    r"(?:T(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]{1,9}))?)?)?)?)?"
    r"(?P<zone>Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?",
    re.ASCII,
)
_CLOCK: Final = re.compile(
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?",
    re.ASCII,
)


def timestamp_of(text: str) -> int:
    """ISO 8601 of which the later parts may be missing; without an offset it is UTC."""
    found = _PARTIAL.fullmatch(text)
    if found is None:
        raise EvaluationFailed(
            f"Failed to parse timestamp '{text}': write it as yyyy-MM-ddTHH:mm:ss.SSS, "
            "with or without an offset such as +0200"
        )
    days = _day_of(found, text)
    return days * DAY_MS + _clock_of(found, text) - _offset_ms(found["zone"])


def date_of(text: str) -> int:
    found = _PARTIAL.fullmatch(text)
    if found is None or found["hour"] or found["zone"] or "T" in text:
        raise EvaluationFailed(f"Failed to parse date '{text}': write it as yyyy-MM-dd")
    return _day_of(found, text)


def time_of(text: str) -> int:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise EvaluationFailed(f"Failed to parse time '{text}': write it as HH:mm:ss or HH:mm:ss.SSS")
    return _clock_of(found, text)


def _day_of(found: re.Match[str], text: str) -> int:
    try:
        return days_of(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    except ValueError as error:
        raise EvaluationFailed(f"'{text}' is no day of the calendar") from error


def _clock_of(found: re.Match[str], text: str) -> int:
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise EvaluationFailed(f"'{text}' is no time of the day")
    return (
        hour * 3_600_000 + minute * 60_000 + second * 1000 + int((found["fraction"] or "")[:3].ljust(3, "0"))
    )


def _offset_ms(zone: str | None) -> int:
    if zone is None or zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = int(digits[:2]) * 3_600_000 + int(digits[2:]) * 60_000
    return offset if zone[0] == "+" else -offset


_FROM_TEXT: Final[dict[t.SqlType, Convert]] = {
    t.BOOLEAN: lambda text: text.lower() == "true",
    t.INTEGER: _whole_of("INTEGER", numbers.INT_MIN, numbers.INT_MAX),
    t.BIGINT: _whole_of("BIGINT", numbers.LONG_MIN, numbers.LONG_MAX),
    t.DOUBLE: double_of,
    t.TIMESTAMP: timestamp_of,
    t.DATE: date_of,
    t.TIME: time_of,
}

_TIMES: Final[dict[tuple[t.SqlType, t.SqlType], Convert]] = {
    (t.TIMESTAMP, t.DATE): lambda millis: millis // DAY_MS,
    (t.TIMESTAMP, t.TIME): lambda millis: millis % DAY_MS,
    (t.DATE, t.TIMESTAMP): lambda days: days * DAY_MS,
}
