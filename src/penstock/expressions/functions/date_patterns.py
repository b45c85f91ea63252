"""Java's DateTimeFormatter patterns: dates and times as text and back, in English.

A pattern is compiled once. Formatting goes element by element; parsing is a regular expression made from the
same elements, which also decides how many digits each of several adjacent numbers gets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.java_text import DAY_MS, civil, days_of

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?(?::?([0-9]{2}))?")


@dataclass(frozen=True)
class Moment:
    """What is formatted: a day, milliseconds of it, and the offset of its zone."""

    days: int = 0
    millis: int = 0
    offset_s: int = 0
    zone: str = ""
    zone_name: str = ""


@dataclass
class Fields:
    """What was parsed."""

    values: dict[str, int] = field(default_factory=dict)
    zone: tzinfo | None = None


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """A zone by its id, such as `Europe/Berlin`, `+02:00` or `UTC`."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    found = _OFFSET.fullmatch(name)
    if found:
        seconds = int(found[2]) * 3600 + int(found[3] or 0) * 60 + int(found[4] or 0)
        return timezone(timedelta(seconds=seconds if found[1] == "+" else -seconds))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise EvaluationFailed(
            f"Unknown time-zone ID: {name}: use one like Europe/Berlin or +02:00"
        ) from error


def offset_at(zone: tzinfo, millis: int) -> int:
    """Seconds that a zone is ahead of UTC at an instant. Beyond Python's years, as in the year before."""
    bounded = max(-62_000_000_000_000, min(millis, 253_000_000_000_000))
    offset = (EPOCH + timedelta(milliseconds=bounded)).astimezone(zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def moment_at(millis: int, zone: tzinfo, zone_id: str) -> Moment:
    offset = offset_at(zone, millis)
    days, rest = divmod(millis + offset * 1000, DAY_MS)
    bounded = max(-62_000_000_000_000, min(millis, 253_000_000_000_000))
    name = (EPOCH + timedelta(milliseconds=bounded)).astimezone(zone).tzname() or zone_id
    if zone_id[:1] in "+-":
        name = zone_id  # an offset is its own name
    return Moment(days, rest, offset, zone_id, name)


Format = Callable[[Moment], str]


@dataclass(frozen=True)
class Element:
    format: Format
    regex: str
    name: str = ""
    """Of the field that it sets; `read` says how."""
    read: Callable[[str], int] = int


@dataclass(frozen=True)
class Optional:
    """Elements in [ ]."""

    elements: tuple[Element | Optional, ...]


class Pattern:
    def __init__(self, text: str) -> None:
        self.text = text
        self._elements = _compiled(text)
        self._readers: dict[str, Element] = {}
        self._regex = re.compile(self._joined(self._elements), re.IGNORECASE)

    def _joined(self, elements: tuple[Element | Optional, ...]) -> str:
        parts = []
        for element in elements:
            if isinstance(element, Optional):
                parts.append(f"(?:{self._joined(element.elements)})?")
            elif element.name:
                group = f"g{len(self._readers)}"
                self._readers[group] = element
                parts.append(f"(?P<{group}>{element.regex})")
            else:
                parts.append(element.regex)
        return "".join(parts)

    def format(self, moment: Moment) -> str:
        return _formatted(self._elements, moment)

    def names(self, fields: frozenset[str]) -> bool:
        """Whether one of these fields is part of the pattern."""
        return any(element.name in fields for element in self._readers.values())

    def parse(self, text: str) -> Fields:
        found = self._regex.fullmatch(text)
        if found is None:
            raise EvaluationFailed(f"Text '{text}' could not be parsed with the pattern '{self.text}'")
        fields = Fields()
        for group, element in self._readers.items():
            raw = found[group]
            if raw is None:
                continue
            if element.name == "zone":
                fields.zone = zone_of("Z" if raw.upper() == "Z" else raw)
                continue
            value = element.read(raw)
            if fields.values.setdefault(element.name, value) != value:
                raise EvaluationFailed(f"Text '{text}' says two things of one field")
        return fields


@lru_cache(maxsize=512)
def pattern(text: str) -> Pattern:
    return Pattern(text)


def _formatted(elements: tuple[Element | Optional, ...], moment: Moment) -> str:
    return "".join(
        _formatted(element.elements, moment) if isinstance(element, Optional) else element.format(moment)
        for element in elements
    )


def _compiled(text: str) -> tuple[Element | Optional, ...]:
    stack: list[list[Element | Optional]] = [[]]
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "'":
            at = _quoted(text, at, stack[-1])
        elif letter == "[":
            stack.append([])
            at += 1
        elif letter == "]":
            if len(stack) == 1:
                raise EvaluationFailed("Pattern invalid as it contains ] without previous [")
            inner = tuple(stack.pop())
            stack[-1].append(Optional(inner))
            at += 1
        elif letter.isascii() and letter.isalpha():
            end = at
            while end < len(text) and text[end] == letter:
                end += 1
            stack[-1].append(_element(letter, end - at))
            at = end
        elif letter in "{}#":
            raise EvaluationFailed(f"Pattern includes reserved character: '{letter}': quote it")
        else:
            stack[-1].append(_literal(letter))
            at += 1
    while len(stack) > 1:  # an optional part may end with the pattern
        inner = tuple(stack.pop())
        stack[-1].append(Optional(inner))
    return tuple(stack[0])


def _quoted(text: str, at: int, into: list[Element | Optional]) -> int:
    end, characters = at + 1, ""
    while True:
        close = text.find("'", end)
        if close < 0:
            raise EvaluationFailed(f"Pattern ends with an incomplete string literal: {text}: add another '")
        characters += text[end:close]
        if text[close + 1 : close + 2] != "'":
            break
        characters += "'"
        end = close + 2
    into.append(_literal(characters or "'"))
    return close + 1


def _literal(text: str) -> Element:
    return Element(lambda moment: text, re.escape(text))


def _element(letter: str, count: int) -> Element:
    if letter not in _LETTERS:
        raise EvaluationFailed(f"Unknown pattern letter: {letter}: put text in '…'")
    return _LETTERS[letter](count)


def _number(name: str, get: Callable[[Moment], int], most: int = 2) -> Callable[[int], Element]:
    def make(count: int) -> Element:
        if count > most:
            raise EvaluationFailed(f"Too many pattern letters for {name}: {count}")
        regex = "[0-9]{1,19}" if count == 1 else f"[0-9]{{{count}}}"
        return Element(lambda moment: f"{get(moment):0{count}d}", regex, name)

    return make


def _year(name: str, get: Callable[[Moment], int]) -> Callable[[int], Element]:
    def make(count: int) -> Element:
        if count == 2:
            return Element(lambda m: f"{get(m) % 100:02d}", "[0-9]{2}", name, lambda raw: 2000 + int(raw))

        def show(moment: Moment) -> str:
            year = get(moment)
            text = f"{abs(year):0{count}d}"
            return f"-{text}" if year < 0 else f"+{text}" if count > 3 and len(text) > count else text

        digits = "[0-9]{1,19}" if count == 1 else f"[0-9]{{{count},19}}"
        regex = f"(?:[-+]?{digits})" if count == 1 or count > 3 else digits
        return Element(show, regex, name)

    return make


def _texts(names: tuple[str, ...], get: Callable[[Moment], int], name: str, count: int) -> Element:
    """The name of the number, short, full or narrow."""
    shown = [n if count == 4 else n[:1] if count == 5 else n[:3] for n in names]
    regex = "|".join(sorted(map(re.escape, shown), key=len, reverse=True))
    lower = [n.lower() for n in shown]
    return Element(
        lambda m: shown[get(m) - 1], f"(?:{regex})", name, lambda raw: lower.index(raw.lower()) + 1
    )


def _month(count: int) -> Element:
    if count <= 2:
        return _number("month", lambda m: civil(m.days)[1])(count)
    return _texts(MONTHS, lambda m: civil(m.days)[1], "month", count)


def _weekday(moment: Moment) -> int:
    return (moment.days + 3) % 7 + 1


def _week_text(count: int) -> Element:
    return _texts(DAYS, _weekday, "weekday", max(count, 3))


def _local_weekday(count: int) -> Element:
    """The week begins on Sunday, as in the United States."""
    if count <= 2:
        return _number("local_weekday", lambda m: _weekday(m) % 7 + 1)(count)
    return _week_text(count)


def _quarter(count: int) -> Element:
    if count <= 2:
        return _number("quarter", lambda m: (civil(m.days)[1] + 2) // 3)(count)
    names = tuple(f"Q{n}" for n in range(1, 5)) if count == 3 else ("1st", "2nd", "3rd", "4th")
    shown = [n if count == 3 else f"{n} quarter" for n in names]
    return Element(
        lambda m: shown[(civil(m.days)[1] - 1) // 3],
        f"(?:{'|'.join(shown)})",
        "quarter",
        lambda raw: [n.lower() for n in shown].index(raw.lower()) + 1,
    )


def _era(count: int) -> Element:
    before, after = ("BC", "AD") if count < 4 else ("Before Christ", "Anno Domini")
    if count == 5:
        before, after = "B", "A"
    return Element(
        lambda m: after if civil(m.days)[0] > 0 else before,
        f"(?:{before}|{after})",
        "era",
        lambda raw: int(raw.upper() == after.upper()),
    )


def _half(count: int) -> Element:
    return Element(
        lambda m: "AM" if m.millis < DAY_MS // 2 else "PM",
        "(?:AM|PM)",
        "half",
        lambda raw: int(raw.upper() == "PM"),
    )


def _fraction(count: int) -> Element:
    def show(moment: Moment) -> str:
        return f"{moment.millis % 1000:03d}".ljust(count, "0")[:count]

    return Element(show, f"[0-9]{{{count}}}", "milli", lambda raw: int(raw[:3].ljust(3, "0")))


def _offset_text(offset_s: int, colon: bool, minutes: bool, seconds: bool) -> str:
    sign, rest = ("+" if offset_s >= 0 else "-"), abs(offset_s)
    hours, rest = divmod(rest, 3600)
    text = f"{sign}{hours:02d}"
    separator = ":" if colon else ""
    if minutes or rest // 60:
        text += f"{separator}{rest // 60:02d}"
    return text + (f"{separator}{rest % 60:02d}" if seconds and rest % 60 else "")


def _offset(letter: str) -> Callable[[int], Element]:
    def make(count: int) -> Element:
        colon, seconds = count in (3, 5), count >= 4

        def show(moment: Moment) -> str:
            if moment.offset_s == 0 and letter == "X":
                return "Z"
            return _offset_text(moment.offset_s, colon, count > 1, seconds)

        regex = "[+-][0-9]{2}" + (":?" if not colon else ":") + "[0-9]{2}"
        if count == 1:
            regex = "[+-][0-9]{2}(?:[0-9]{2})?"
        return Element(show, f"(?:Z|{regex})" if letter == "X" else regex, "zone")

    return make


def _plain_offset(count: int) -> Element:
    """Z, ZZ and ZZZ are +0100; ZZZZ is GMT+01:00; ZZZZZ is +01:00."""
    if count == 4:
        return _gmt_offset(4)
    if count == 5:
        return _offset("X")(5)
    return Element(lambda m: _offset_text(m.offset_s, False, True, False), "[+-][0-9]{4}", "zone")


def _gmt_offset(count: int) -> Element:
    def show(moment: Moment) -> str:
        if moment.offset_s == 0:
            return "GMT"
        if count == 4:
            return "GMT" + _offset_text(moment.offset_s, True, True, True)
        hours, minutes = divmod(abs(moment.offset_s) // 60, 60)
        sign = "+" if moment.offset_s > 0 else "-"
        return f"GMT{sign}{hours}" + (f":{minutes:02d}" if minutes else "")

    return Element(show, "GMT(?:[+-][0-9]{1,2}(?::[0-9]{2})?)?", "zone")


def _zone_id(count: int) -> Element:
    if count != 2:
        raise EvaluationFailed("Pattern letter count must be 2: V: write VV")
    return Element(lambda m: m.zone, "[A-Za-z][A-Za-z0-9/_+-]*|[+-][0-9:]+", "zone")


def _zone_name(count: int) -> Element:
    return Element(lambda m: m.zone_name, "[A-Za-z][A-Za-z0-9/_+:-]*", "zone")


def _week_fields(moment: Moment) -> tuple[int, int]:
    """Year and week of the United States: weeks begin on Sunday, the first holds January 1st."""
    year, _, _ = civil(moment.days)
    for candidate in (year + 1, year, year - 1):
        first = days_of(candidate, 1, 1)
        begin = first - (first + 4) % 7
        if moment.days >= begin:
            return candidate, (moment.days - begin) // 7 + 1
    raise AssertionError("a day is in the week of some year")


def _week_of_month(moment: Moment) -> int:
    year, month, day = civil(moment.days)
    first = days_of(year, month, 1)
    return (day - 1 + (first + 4) % 7) // 7 + 1


def _hour(moment: Moment) -> int:
    return moment.millis // 3_600_000


def _of_era(moment: Moment) -> int:
    year = civil(moment.days)[0]
    return year if year > 0 else 1 - year


_LETTERS: Final[dict[str, Callable[[int], Element]]] = {
    "G": _era,
    "u": _year("year", lambda m: civil(m.days)[0]),
    "y": _year("year_of_era", _of_era),
    "Y": _year("week_year", lambda m: _week_fields(m)[0]),
    "D": _number("day_of_year", lambda m: m.days - days_of(civil(m.days)[0], 1, 1) + 1, 3),
    "M": _month,
    "L": _month,
    "d": _number("day", lambda m: civil(m.days)[2]),
    "Q": _quarter,
    "q": _quarter,
    "w": _number("week", lambda m: _week_fields(m)[1]),
    "W": _number("week_of_month", _week_of_month, 1),
    "E": _week_text,
    "e": _local_weekday,
    "c": _local_weekday,
    "a": _half,
    "h": _number("half_hour", lambda m: (_hour(m) + 11) % 12 + 1),
    "K": _number("half_hour_0", lambda m: _hour(m) % 12),
    "k": _number("hour_24", lambda m: (_hour(m) + 23) % 24 + 1),
    "H": _number("hour", _hour),
    "m": _number("minute", lambda m: m.millis // 60_000 % 60),
    "s": _number("second", lambda m: m.millis // 1000 % 60),
    "S": _fraction,
    "A": _number("milli_of_day", lambda m: m.millis, 19),
    "n": _number("nano", lambda m: m.millis % 1000 * 1_000_000, 19),
    "N": _number("nano_of_day", lambda m: m.millis * 1_000_000, 19),
    "V": _zone_id,
    "z": _zone_name,
    "O": _gmt_offset,
    "X": _offset("X"),
    "x": _offset("x"),
    "Z": _plain_offset,
}


DATE_FIELDS: Final = frozenset(
    {"era", "year", "year_of_era", "week_year", "day_of_year", "month", "day", "week", "weekday"}
    | {"week_of_month", "quarter"}
)
TIME_FIELDS: Final = frozenset(
    {"half", "half_hour", "half_hour_0", "hour_24", "hour", "minute", "second", "milli", "nano"}
    | {"milli_of_day", "nano_of_day"}
)
_RANGES: Final = {"month": (1, 12), "day": (1, 31), "hour": (0, 24), "minute": (0, 59), "second": (0, 59)}


def resolved_days(fields: Fields, text: str) -> int:
    """The day since 1970; parts that are missing are those of 1970-01-01."""
    values = fields.values
    for name, (low, high) in _RANGES.items():
        if name in values and not low <= values[name] <= high:
            raise EvaluationFailed(f"Text '{text}' could not be parsed: {name} is {values[name]}")
    year = values.get("year", values.get("year_of_era", 1970))
    if values.get("era") == 0:
        year = 1 - year
    try:
        if "day_of_year" in values:
            days = days_of(year, 1, 1) + values["day_of_year"] - 1
            if civil(days)[0] != year or values["day_of_year"] < 1:
                raise ValueError("day of year")
        else:
            month = values.get("month", 1)
            day = values.get("day", 1)
            if day > 28:  # Java takes the last day of a shorter month, up to 31
                day = min(day, last_day(year, month))
            days = days_of(year, month, day)
    except ValueError as error:
        raise EvaluationFailed(f"Text '{text}' is no day of the calendar") from error
    weekday = values.get("weekday")
    if weekday is not None and (days + 3) % 7 + 1 != weekday:
        raise EvaluationFailed(f"Text '{text}' names another day of the week than its date has")
    return days


def last_day(year: int, month: int) -> int:
    following = date(2000 + year % 400 + (month == 12), month % 12 + 1, 1)
    return (following - timedelta(days=1)).day


def resolved_millis(fields: Fields, text: str) -> int:
    """Milliseconds of the day."""
    values = fields.values
    if "milli_of_day" in values:
        return values["milli_of_day"]
    if "nano_of_day" in values:
        return values["nano_of_day"] // 1_000_000
    half = values.get("half")
    if "half_hour" in values or "half_hour_0" in values:
        hour = values.get("half_hour", values.get("half_hour_0", 0)) % 12 + 12 * (half or 0)
    else:
        hour = values.get("hour", values.get("hour_24", 0) % 24)
    milli = values.get("milli", values.get("nano", 0) // 1_000_000)
    parts = (hour, values.get("minute", 0), values.get("second", 0))
    if parts == (24, 0, 0) and milli == 0:
        return DAY_MS  # the end of the day
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        raise EvaluationFailed(f"Text '{text}' is no time of the day")
    return parts[0] * 3_600_000 + parts[1] * 60_000 + parts[2] * 1000 + milli


def resolved_instant(fields: Fields, text: str, default: tzinfo) -> int:
    """Milliseconds since 1970; in the zone of the text, or else in the default one."""
    local = resolved_days(fields, text) * DAY_MS + resolved_millis(fields, text)
    zone = fields.zone or default
    if not -62_000_000_000_000 < local < 253_000_000_000_000:
        return local - offset_at(zone, local) * 1000
    naive = (EPOCH + timedelta(milliseconds=local)).replace(tzinfo=zone)
    offset = naive.utcoffset()
    assert offset is not None
    return local - int(offset.total_seconds() * 1000)
