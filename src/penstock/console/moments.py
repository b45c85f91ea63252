"""A moment as people write it, in forms, addresses and filters. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.client.errors import InvalidValue

TIMESTAMP_EXAMPLE = "2026-01-31 12:00:00"


def parse_timestamp(text: str) -> int:
    """Milliseconds since 1970, or a date and time in ISO 8601; UTC unless it names another offset."""
    text = text.strip()
    if text.isdecimal() and len(text) <= 15:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue(
            f"{text!r} is not a timestamp. "
            f"Write one such as {TIMESTAMP_EXAMPLE} (UTC), or milliseconds since 1970."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
