"""What a format must have: a row of SQL values becomes bytes, and bytes become a row.

A row is a list with one value for each column, in the order of the columns; `penstock.expressions.types` says
which Python value stands for which type. No row is `None`, and so are no bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from penstock.kernels.serdes import SerdeError

Row = list[Any]


class FormatError(SerdeError):
    """Bytes that are no row of these columns, or a row that the format cannot write."""


class Codec(Protocol):
    """Made once for the columns of a topic's keys or values, and used for many records."""

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        """None where the row is a bare null."""
        ...

    def decode(self, topic: str, data: bytes) -> Row | None:
        """None where the bytes say that there is no row. `FormatError` where they are no row."""
        ...


def unreadable(topic: str, part: str, reason: object) -> FormatError:
    """In ksqlDB's words; `part` is "key" or "value"."""
    return FormatError(f"Failed to deserialize {part} from topic: {topic}. {reason}")


def unwritable(topic: str, part: str, reason: object) -> FormatError:
    return FormatError(f"Failed to serialize {part} for topic: {topic}. {reason}")
