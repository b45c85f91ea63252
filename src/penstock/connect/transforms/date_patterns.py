"""Java's SimpleDateFormat in UTC: patterns such as `yyyy-MM-dd'T'HH:mm:ss.SSS`, to write and to read.

Reading is lenient, as Java's is: the 32nd of a month is the first of the next or later, and text behind the
pattern is ignored. Years of two digits lie between 1970 and 2069.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from penstock.connect.data.dates import EPOCH, from_millis
from penstock.connect.errors import ConfigError

_MONTHS: Final = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
_DAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_LETTERS: Final = frozenset("GyMLdDEuaHkKhmsSzZX")
_NUMERIC: Final = frozenset("yMdDuHkKhmsS")


class _Part(NamedTuple):
    """Letters of one kind, or plain text (`letter` is empty)."""

    letter: str
    width: int
    text: str = ""

    @property
    def is_number(self) -> bool:
        return self.letter in _NUMERIC and not (self.letter in "ML" and self.width >= 3)


class DatePattern:
    def __init__(self, setting: str, pattern: str) -> None:
        self.pattern = pattern
        self._parts = _parts(setting, pattern)

    def format(self, millis: int) -> str:
        moment = from_millis(millis)
        return "".join(
            each.text if not each.letter else _written(each, moment, millis) for each in self._parts
        )

    def parse(self, text: str) -> int | None:
        """Milliseconds since 1970, or None where the text does not fit."""
        found: dict[str, int] = {}
        at = 0
        for index, part in enumerate(self._parts):
            following = self._parts[index + 1] if index + 1 < len(self._parts) else None
            abutting = part.is_number and following is not None and following.is_number
            end = _read(part, text, at, abutting, found)
            if end is None:
                return None
            at = end
        return _millis(found)


def _parts(setting: str, pattern: str) -> list[_Part]:
    parts: list[_Part] = []
    for found in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", pattern):
        whole = found[0]
        if found[2]:
            if found[2] not in _LETTERS:
                raise ConfigError(setting, pattern, f"Illegal pattern character '{found[2]}'")
            parts.append(_Part(found[2], len(whole)))
        elif whole.startswith("'"):
            if found[1] is None:
                raise ConfigError(setting, pattern, "Unterminated quote")
            parts.append(_Part("", 0, found[1].replace("''", "'") if found[1] else "'"))
        else:
            parts.append(_Part("", 0, whole))
    return parts


def _written(part: _Part, moment: datetime, millis: int) -> str:
    letter, count = part.letter, part.width
    match letter:
        case "G":
            return "AD"
        case "y":
            return f"{moment.year % 100:02d}" if count == 2 else str(moment.year).rjust(count, "0")
        case "M" | "L":
            name = _MONTHS[moment.month - 1]
            return str(moment.month).rjust(count, "0") if count < 3 else name if count > 3 else name[:3]
        case "E":
            name = _DAYS[moment.weekday()]
            return name if count > 3 else name[:3]
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "z":
            return "UTC" if count < 4 else "Coordinated Universal Time"
        case "Z":
            return "+0000"
        case "X":
            return "Z"
    return str(_number(letter, moment, millis)).rjust(count, "0")


def _number(letter: str, moment: datetime, millis: int) -> int:
    hour = moment.hour
    return {
        "d": moment.day,
        "D": moment.timetuple().tm_yday,
        "u": moment.isoweekday(),
        "H": hour,
        "k": hour or 24,
        "K": hour % 12,
        "h": hour % 12 or 12,
        "m": moment.minute,
        "s": moment.second,
        "S": millis % 1000,
    }[letter]


def _read(part: _Part, text: str, at: int, abutting: bool, found: dict[str, int]) -> int | None:
    """The position behind the part, or None."""
    if not part.letter:
        return at + len(part.text) if text.startswith(part.text, at) else None
    if part.is_number:
        while not abutting and text[at : at + 1] in (" ", "\t") and text[at : at + 1]:
            at += 1
        digits = re.compile(rf"\d{{1,{part.width}}}" if abutting else r"[+-]?\d+").match(text, at)
        if digits is None:
            return None
        number = int(digits[0])
        if part.letter == "y" and part.width <= 2 and len(digits[0]) == 2:
            number += 1900 if number >= 70 else 2000
        found[part.letter] = number
        return digits.end()
    if part.letter in "ML":
        return _named(_MONTHS, "M", text, at, found)
    if part.letter == "E":
        return _named(_DAYS, "E", text, at, found)
    if part.letter in "aG":
        names = ["AM", "PM"] if part.letter == "a" else ["BC", "AD"]
        word = text[at : at + 2].upper()
        if word not in names:
            return None
        found[part.letter] = names.index(word)
        return at + 2
    return _zone(text, at, found)


def _named(names: list[str], letter: str, text: str, at: int, found: dict[str, int]) -> int | None:
    for index, name in enumerate(names):
        for form in (name, name[:3]):
            if text[at : at + len(form)].lower() == form.lower():
                found[letter] = index + 1
                return at + len(form)
    return None


def _zone(text: str, at: int, found: dict[str, int]) -> int | None:
    zone = re.compile(r"(?:UTC|GMT|Z|z)?(?:([+-])(\d{1,2}):?(\d{2})?)?").match(text, at)
    if zone is None or zone.end() == at:
        return None
    if zone[1]:
        minutes = int(zone[2]) * 60 + int(zone[3] or 0)
        found["zone"] = -minutes if zone[1] == "-" else minutes
    return zone.end()


def _millis(found: dict[str, int]) -> int | None:
    year, month = found.get("y", 1970), found.get("M", 1)
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    try:
        day = datetime(year, month, 1, tzinfo=EPOCH.tzinfo)
    except ValueError:
        return None
    days = found["D"] - 1 if "D" in found and "d" not in found else found.get("d", 1) - 1
    hour = found.get("H", found.get("k", -1))
    if "k" in found and "H" not in found:
        hour %= 24
    if hour < 0:
        hour = found.get("K", found.get("h", 0) % 12) + 12 * found.get("a", 0)
    moment = day + timedelta(
        days=days,
        hours=hour,
        minutes=found.get("m", 0) - found.get("zone", 0),
        seconds=found.get("s", 0),
        milliseconds=found.get("S", 0),
    )
    return (moment - EPOCH) // timedelta(milliseconds=1)
