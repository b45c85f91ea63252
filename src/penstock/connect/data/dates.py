"""Java's dates without a zone: Date, Time and Timestamp of Connect, as datetimes in UTC.

Java keeps all three in one class, java.util.Date: milliseconds since 1970. So does this: a date is
midnight, a time of day is on the first of January 1970.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MS: Final = 24 * 60 * 60 * 1000


def from_millis(millis: int) -> datetime:
    return EPOCH + timedelta(milliseconds=millis)


def to_millis(moment: datetime) -> int:
    """Rounded down to whole milliseconds."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def from_days(days: int) -> datetime:
    return EPOCH + timedelta(days=days)
