"""What a topic holds, as data: key and value columns with their types and formats. Sources and sinks carry
it where the plan knows; serdes are made from it (`penstock.sql` does so), and people are shown it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.expressions.types import SqlType, quoted


@dataclass(frozen=True)
class ColumnSchema:
    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True)
class Format:
    """How columns become bytes: a name such as `JSON`, with the properties that it has."""

    name: str
    properties: tuple[tuple[str, str], ...] = ()
    """Sorted by name, so that equal formats are equal."""
    wrapped: bool = True
    """Whether a single column stands in a record of its own, or bare."""


@dataclass(frozen=True)
class RowSchema:
    """Columns of a topic's keys and values. Invariant: no two have one name."""

    key: tuple[ColumnSchema, ...]
    value: tuple[ColumnSchema, ...]
    key_format: Format
    value_format: Format
    key_is_windowed: bool = False

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two columns are named {name}: give one of them another name")

    @property
    def columns(self) -> Iterator[ColumnSchema]:
        yield from self.key
        yield from self.value

    def __str__(self) -> str:
        """As ksqlDB shows it."""
        return ", ".join([*(f"{column} KEY" for column in self.key), *map(str, self.value)])
