"""Numbers, sizes, durations and errors as words on a page. Pure."""

from __future__ import annotations

from penstock.client.errors import BrokerUnreachable, ClientError
from penstock.console.lag_times import Behind

UNKNOWN = "–"

_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000))


def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def rate(value: float | None) -> str:
    """Records a second: one decimal where it says something."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f}" if 0 < value < 10 else f"{value:,.0f}"


def counted(value: int, noun: str) -> str:
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration(milliseconds: str | None) -> str:
    """A topic setting in milliseconds, such as retention.ms, in the largest unit that fits it exactly."""
    if milliseconds is None:
        return UNKNOWN
    try:
        value = int(milliseconds)
    except ValueError:
        return milliseconds
    if value < 0:
        return "forever"
    for noun, unit in _UNITS:
        if value >= unit and value % unit == 0:
            return counted(value // unit, noun)
    return f"{value:,} ms"


def bytes_text(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    units = ["B", "KB", "MB", "GB", "TB", "PB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.1f} {units[0]}" if units[0] != "B" and value < 10 else f"{value:,.0f} {units[0]}"


def seconds(value: float | None) -> str:
    """A length of time that was measured, with the precision that it deserves."""
    if value is None:
        return UNKNOWN
    if value < 1:
        return f"{value * 1000:.0f} ms"
    for limit, unit, size in ((120, "s", 1), (7_200, "min", 60), (172_800, "h", 3_600)):
        if value < limit:
            return f"{value / size:.0f} {unit}"
    return f"{value / 86_400:.0f} days"


def behind(value: Behind | None) -> str:
    """`> 12 min` where no more is known than that."""
    if value is None:
        return UNKNOWN
    return f"{'' if value.exact else '> '}{seconds(value.seconds)}" if value.seconds else "0 s"


def ago(moment: float, now: float) -> str:
    return f"{seconds(max(0.0, now - moment))} ago"


def unreachable_title(bootstrap_servers: str) -> str:
    return f"The broker at {bootstrap_servers} cannot be reached"


def unreachable_advice(error: ClientError) -> str:
    reason = error.reason if isinstance(error, BrokerUnreachable) and error.reason else "No answer in time"
    return (
        f"{reason}. Check that the broker runs, that this address and port are the ones it advertises, and "
        "that no firewall stands between. The console goes on by itself as soon as it answers."
    )
