"""Where a share group begins to read: `earliest`, `latest`, or `by_duration:` and how long ago."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from penstock.settings.errors import invalid
from penstock.settings.kinds import Kind, SettingType

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_BY_DURATION: Final = "by_duration:"
_ALLOWED: Final = "earliest, latest or by_duration:PnDTnHnMn.nS"
_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)


def offset_reset(text: str) -> str | timedelta:
    """EARLIEST, LATEST, or how long ago; ValueError for any other text."""
    if text in (EARLIEST, LATEST):
        return text
    found = _DURATION.fullmatch(text.removeprefix(_BY_DURATION)) if text.startswith(_BY_DURATION) else None
    if found is None or not any(found.groupdict().values()):
        raise ValueError(text)
    return timedelta(**{unit: float(value) for unit, value in found.groupdict().items() if value})


def _parse(name: str, text: str) -> str:
    try:
        offset_reset(text)
    except ValueError:
        raise invalid(name, text, f"Value must be {_ALLOWED}", _ALLOWED) from None
    return text


OFFSET_RESET: Final = Kind(SettingType.STRING, _parse, str, _ALLOWED)
