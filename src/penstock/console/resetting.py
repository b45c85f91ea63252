"""The choices of a reset as the dialog and the API name them, and what they mean. Pure."""

from __future__ import annotations

from typing import Final

from penstock.client.errors import InvalidValue
from penstock.client.targets import Target
from penstock.console.moments import parse_timestamp
from penstock.console.query import parse_number

CHOICES: Final = {
    "earliest": "The beginning of each partition",
    "latest": "The end of each partition",
    "timestamp": "The first record at or after a time",
    "offset": "One offset in every partition",
    "shift": "So many records forward, or back with a minus",
}


def parse_target(choice: str, value: str) -> Target:
    match choice:
        case "earliest":
            return Target()
        case "latest":
            return Target(latest=True)
        case "timestamp":
            return Target(timestamp_ms=parse_timestamp(value))
        case "offset":
            return Target(offset=parse_number("offset", value))
        case "shift":
            return Target(shift_by=_whole(value))
    raise InvalidValue(f"A group cannot be reset to {choice!r}. Use one of {', '.join(CHOICES)}.")


def _whole(text: str) -> int:
    digits = text.strip().removeprefix("-").removeprefix("+")
    if not digits.isdecimal() or len(digits) > 18:
        raise InvalidValue(f"{text!r} is no number of records. Write one such as -100 or 5.")
    return -int(digits) if text.strip().startswith("-") else int(digits)
