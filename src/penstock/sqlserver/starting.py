"""Where a query begins to read: START AT of the statement, or `auto.offset.reset`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from penstock.client.admin import Admin, Partition
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sqlserver.topic_reading import starting_offsets

_RESETS: Final = {"BEGINNING": "earliest", "END": "latest"}


def begin_offsets(
    admin: Admin, topics: tuple[str, ...], start: s.StartAt | None, reset: str
) -> dict[Partition, int]:
    """An offset that a partition does not have becomes its first or its last one."""
    if start is None or (start.what in _RESETS and start.value is None):
        return starting_offsets(admin, topics, reset if start is None else _RESETS[start.what])
    firsts, ends = starting_offsets(admin, topics, "earliest"), starting_offsets(admin, topics, "latest")
    if start.what == "OFFSET" and isinstance(start.value, int):
        wanted = dict.fromkeys(ends, start.value)
    elif start.what == "TIMESTAMP" and start.value is not None:
        found = admin.offsets_at(list(ends), time_ms(start))
        wanted = {place: found.get(place, end) for place, end in ends.items()}
    else:
        raise SqlError(
            "START AT takes BEGINNING, END, OFFSET n or TIMESTAMP '2026-01-31T12:00:00Z' (or milliseconds)",
            *start.at,
        )
    return {place: min(max(at, firsts[place]), ends[place]) for place, at in wanted.items()}


def time_ms(start: s.StartAt) -> int:
    if isinstance(start.value, int):
        return start.value
    try:
        found = datetime.fromisoformat(str(start.value))
    except ValueError as error:
        raise SqlError(f"START AT: {start.value!r} is no time: {error}", *start.at) from error
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
