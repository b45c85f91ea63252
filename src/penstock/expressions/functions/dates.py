"""Functions of dates, times and timestamps. Patterns are Java's (`date_patterns.py`)."""

from __future__ import annotations

from datetime import UTC
from typing import Final

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions import date_patterns as p
from penstock.expressions.functions.registry import Bound, Functions, Implementation
from penstock.expressions.java_text import DAY_MS, civil, days_of
from penstock.expressions.numbers import wrap_int

define = Functions()

UTC: Final = UTC
_UNITS: Final = {
    "MILLISECOND": 1,
    "SECOND": 1000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": DAY_MS,
    "WEEK": 7 * DAY_MS,
}
_CALENDAR: Final = {"MONTH": 1, "YEAR": 12}


def _unit(name: str) -> str:
    unit = name.upper().removesuffix("S")
    if unit not in _UNITS and unit not in _CALENDAR:
        raise EvaluationFailed(f"{name} is no unit of time: use DAYS, HOURS, MINUTES and the like")
    return unit


def _shifted(millis: int, unit: str, count: int) -> int:
    if unit in _UNITS:
        return millis + count * _UNITS[unit]
    days, rest = divmod(millis, DAY_MS)
    year, month, day = civil(days)
    months = year * 12 + month - 1 + count * _CALENDAR[unit]
    year, month = months // 12, months % 12 + 1
    return days_of(year, month, min(day, p.last_day(year, month))) * DAY_MS + rest


@define("TIMESTAMPADD(STRING, INT, TIMESTAMP) -> TIMESTAMP")
def timestampadd(unit: str, count: int, moment: int) -> int:
    """The timestamp so many units later."""
    return _shifted(moment, _unit(unit), count)


@define("TIMESTAMPSUB(STRING, INT, TIMESTAMP) -> TIMESTAMP")
def timestampsub(unit: str, count: int, moment: int) -> int:
    """The timestamp so many units earlier."""
    return _shifted(moment, _unit(unit), -count)


@define("DATEADD(STRING, INT, DATE) -> DATE")
def dateadd(unit: str, count: int, day: int) -> int:
    """The date so many units later."""
    return _shifted(day * DAY_MS, _unit(unit), count) // DAY_MS


@define("DATESUB(STRING, INT, DATE) -> DATE")
def datesub(unit: str, count: int, day: int) -> int:
    """The date so many units earlier."""
    return _shifted(day * DAY_MS, _unit(unit), -count) // DAY_MS


@define("TIMEADD(STRING, INT, TIME) -> TIME")
def timeadd(unit: str, count: int, time: int) -> int:
    """The time of the day so many units later; midnight is passed."""
    return _shifted(time, _unit(unit), count) % DAY_MS


@define("TIMESUB(STRING, INT, TIME) -> TIME")
def timesub(unit: str, count: int, time: int) -> int:
    """The time of the day so many units earlier."""
    return _shifted(time, _unit(unit), -count) % DAY_MS


@define("FORMAT_DATE(DATE, STRING) -> STRING", "DATETOSTRING(INT, STRING) -> STRING")
def format_date(day: int, pattern: str) -> str:
    """A date as text, by a pattern of Java's DateTimeFormatter."""
    form = p.pattern(pattern)
    if form.names(p.TIME_FIELDS):
        raise EvaluationFailed(f"Failed to format date with formatter '{pattern}': it has a time of the day")
    return form.format(p.Moment(day))


@define("PARSE_DATE(STRING, STRING) -> DATE")
def parse_date(text: str, pattern: str) -> int:
    """A date from text. A pattern with a time of the day is refused."""
    form = p.pattern(pattern)
    if form.names(p.TIME_FIELDS):
        raise EvaluationFailed(
            f"Failed to parse date '{text}' with formatter '{pattern}': Date format contains time field."
        )
    return p.resolved_days(form.parse(text), text)


@define("STRINGTODATE(STRING, STRING) -> INT")
def stringtodate(text: str, pattern: str) -> int:
    """A date from text, as days since 1970."""
    return wrap_int(p.resolved_days(p.pattern(pattern).parse(text), text))


@define("FORMAT_TIME(TIME, STRING) -> STRING")
def format_time(time: int, pattern: str) -> str:
    """A time of the day as text."""
    form = p.pattern(pattern)
    if form.names(p.DATE_FIELDS):
        raise EvaluationFailed(f"Failed to format time with formatter '{pattern}': it has a date")
    return form.format(p.Moment(0, time))


@define("PARSE_TIME(STRING, STRING) -> TIME")
def parse_time(text: str, pattern: str) -> int:
    """A time of the day from text. A pattern with a date is refused."""
    form = p.pattern(pattern)
    if form.names(p.DATE_FIELDS):
        raise EvaluationFailed(
            f"Failed to parse time '{text}' with formatter '{pattern}': Time format contains date field."
        )
    return p.resolved_millis(form.parse(text), text)


@define(
    "FORMAT_TIMESTAMP(TIMESTAMP, STRING) -> STRING",
    "FORMAT_TIMESTAMP(TIMESTAMP, STRING, STRING) -> STRING",
    "TIMESTAMPTOSTRING(BIGINT, STRING) -> STRING",
    "TIMESTAMPTOSTRING(BIGINT, STRING, STRING) -> STRING",
)
def format_timestamp(millis: int, pattern: str, zone: str = "UTC") -> str:
    """A timestamp as text, in UTC or another zone."""
    return p.pattern(pattern).format(p.moment_at(millis, p.zone_of(zone), zone))


@define(
    "PARSE_TIMESTAMP(STRING, STRING) -> TIMESTAMP",
    "PARSE_TIMESTAMP(STRING, STRING, STRING) -> TIMESTAMP",
    "STRINGTOTIMESTAMP(STRING, STRING) -> BIGINT",
    "STRINGTOTIMESTAMP(STRING, STRING, STRING) -> BIGINT",
)
def parse_timestamp(text: str, pattern: str, zone: str = "UTC") -> int:
    """A timestamp from text; a zone in the text counts before the given one."""
    return p.resolved_instant(p.pattern(pattern).parse(text), text, p.zone_of(zone))


@define("CONVERT_TZ(TIMESTAMP, STRING, STRING) -> TIMESTAMP")
def convert_tz(millis: int, source: str, target: str) -> int:
    """The timestamp moved by the difference of two zones."""
    difference = p.offset_at(p.zone_of(target), millis) - p.offset_at(p.zone_of(source), millis)
    return millis + difference * 1000


@define("FROM_DAYS(INT) -> DATE")
def from_days(days: int) -> int:
    """A date from days since 1970."""
    return days


@define("FROM_UNIXTIME(BIGINT) -> TIMESTAMP")
def from_unixtime(millis: int) -> int:
    """A timestamp from milliseconds since 1970."""
    return millis


@define("UNIX_DATE(DATE) -> INT")
def unix_date(day: int) -> int:
    """Days since 1970."""
    return wrap_int(day)


@define.bound("UNIX_DATE() -> INT")
def unix_date_now(bound: Bound) -> Implementation:
    """Today, as days since 1970."""
    return lambda: bound.environment.now_ms() // DAY_MS


@define("UNIX_TIMESTAMP(TIMESTAMP) -> BIGINT")
def unix_timestamp(millis: int) -> int:
    """Milliseconds since 1970."""
    return millis


@define.bound("UNIX_TIMESTAMP() -> BIGINT")
def unix_timestamp_now(bound: Bound) -> Implementation:
    """Now, as milliseconds since 1970."""
    return bound.environment.now_ms
