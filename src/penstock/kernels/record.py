"""What flows through a topology: records, changes of a table's row, and keys with their window."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

UNKNOWN_TIME: Final = -1
"""The time before the first record."""

Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """One record as an operator sees it: deserialised, with the time that the extractor gave it."""

    key: Any
    value: Any
    timestamp: int
    headers: Headers = ()

    def with_key(self, key: Any) -> Record:
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: Any) -> Record:
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record:
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record:
        return Record(self.key, self.value, self.timestamp, headers)


class Change(NamedTuple):
    """How a row of a table changed; `None` is no row. `old` is kept only where an operator downstream asks
    for it.
    """

    new: Any
    old: Any
    is_latest: bool = True  # false when a versioned table got a version older than the one it has


class Stamped(NamedTuple):
    """A value of a store with the time of the last record that made it."""

    value: Any
    timestamp: int


class Windowed(NamedTuple):
    """A key within a window. `end` excludes for time windows, and includes for sliding ones and sessions."""

    key: Any
    start: int
    end: int


class Metadata(NamedTuple):
    """Where the record came from that is being processed."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    headers: Headers = ()


def latest(one: int, other: int) -> int:
    return one if one > other else other
