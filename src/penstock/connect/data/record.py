"""A record on its way through Connect: a topic's record with schemas, and its headers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.connect.data.schema import Schema


@dataclass(frozen=True)
class Header:
    key: str
    value: Any
    schema: Schema | None = None


@dataclass(frozen=True)
class ConnectRecord:
    """Immutable: a transform returns another one. Without schemas, values are maps, lists and plain
    values."""

    topic: str
    partition: int | None = None
    key: Any = None
    key_schema: Schema | None = None
    value: Any = None
    value_schema: Schema | None = None
    timestamp: int | None = None  # milliseconds
    headers: tuple[Header, ...] = ()
    offset: int | None = None  # of a record that was read from a topic

    def with_topic(self, topic: str) -> ConnectRecord:
        return replace(self, topic=topic)

    def with_headers(self, headers: tuple[Header, ...]) -> ConnectRecord:
        return replace(self, headers=headers)
