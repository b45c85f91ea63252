"""AS OF TIMESTAMP: a stream or a table as it was, read from its topic.

What was there is what the topic still holds: retention deletes records, and compaction the older ones of a
key, so a table's past reaches as far as its topic keeps updates.
"""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event
from typing import Final

from penstock.plan.raw_records import RawRecord
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sqlserver.topic_reading import TopicReader

POLL_S: Final = 0.1


def as_of_ms(node: s.AsOf) -> int:
    """The time in milliseconds; text without a zone is UTC."""
    if node.value.lstrip("-").isdecimal():
        return int(node.value)
    try:
        found = datetime.fromisoformat(node.value)
    except ValueError as error:
        raise SqlError(
            f"AS OF TIMESTAMP: {node.value!r} is no time: write '2026-01-31T12:00:00Z' or milliseconds",
            *node.at,
        ) from error
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


class PastReader:
    """A `TopicReader` that leaves out records with a later time."""

    def __init__(self, reader: TopicReader, until_ms: int) -> None:
        self._reader, self._until_ms = reader, until_ms

    @property
    def at_end(self) -> bool:
        return self._reader.at_end

    def poll(self, timeout_s: float) -> list[RawRecord]:
        return [record for record in self._reader.poll(timeout_s) if record.timestamp <= self._until_ms]


def table_rows(reader: PastReader, closed: Event) -> list[RawRecord]:
    """The last record of each key, those of deleted keys left out."""
    rows: dict[tuple[int, bytes], RawRecord] = {}
    while not reader.at_end and not closed.is_set():
        for record in reader.poll(POLL_S):
            if record.key is None:
                continue
            place = (record.partition, record.key)
            rows.pop(place, None)
            if record.value is not None:
                rows[place] = record
    return list(rows.values())
