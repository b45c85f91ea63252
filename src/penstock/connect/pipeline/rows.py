"""Rows of records in bytes: what converters make, and what they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """A record of a topic in bytes."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    offset: int | None = None  # of a record that was read


class PlainRows(NamedTuple):
    """Records of a topic that have a key and a value, or a value alone, and nothing else."""

    topic: str
    values: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None = None
