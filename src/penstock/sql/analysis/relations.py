"""FROM as data: sources under their aliases, joins between them, and what a row of them holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.sql.sources import ROWTIME, WINDOW_BOUNDS, DataSource, KeyWindow
from penstock.sql.syntax import NOWHERE, Position

STREAM_STREAM, STREAM_TABLE, TABLE_TABLE, FOREIGN_KEY = "stream-stream", "stream-table", "table-table", "fk"


@dataclass(frozen=True)
class KeyColumn:
    """One column of a key. `names` are the columns of the row that stand for it, the preferred one first."""

    names: tuple[str, ...]
    type: t.SqlType
    shown: tuple[str, ...] = ()
    """The same columns in a user's words."""


@dataclass(frozen=True)
class FromSource:
    """A source under the name by which the query knows it."""

    alias: str
    source: DataSource
    prefix: str = ""
    """Stands before its columns in a row, where there are several sources."""
    at: Position = NOWHERE

    @property
    def is_table(self) -> bool:
        return self.source.kind == "TABLE"

    @property
    def window(self) -> KeyWindow | None:
        return self.source.window

    @property
    def key(self) -> tuple[KeyColumn, ...]:
        return tuple(
            KeyColumn((self.prefix + column.name,), column.type, (self._shown(column.name),))
            for column in self.source.schema.key
        )

    @property
    def leaves(self) -> tuple[FromSource, ...]:
        return (self,)

    def _shown(self, name: str) -> str:
        return f"{self.alias}.{name}" if self.prefix else name

    def columns(self) -> Iterator[tuple[str, t.SqlType]]:
        """Names and types of all that can be named, columns of the system too."""
        for column in self.source.schema.columns:
            yield column.name, column.type
        yield from ROWTIME.items()
        if self.source.window is not None:
            yield from WINDOW_BOUNDS.items()

    def stars(self, *, bounds: bool) -> Iterator[tuple[str, t.SqlType]]:
        """What `*` stands for, as columns of the row; with the bounds of windows where they are wanted."""
        schema = self.source.schema
        for column in schema.key:
            yield self.prefix + column.name, column.type
        if bounds and self.source.window is not None:
            for name, kind in WINDOW_BOUNDS.items():
                yield self.prefix + name, kind
        for column in schema.value:
            yield self.prefix + column.name, column.type


@dataclass(frozen=True)
class WithinMs:
    before: int
    after: int
    grace: int | None
    """None: rows without a match are given at once."""


@dataclass(frozen=True)
class KeyPart:
    """One of several equalities of a join, and the name that it has within the key."""

    name: str
    left: e.Expression
    right: e.Expression


@dataclass(frozen=True)
class Joined:
    """Two sides that meet where their keys are equal."""

    kind: str
    """INNER, LEFT, RIGHT or FULL."""
    how: str
    left: From
    right: FromSource
    left_key: e.Expression
    right_key: e.Expression
    key: tuple[KeyColumn, ...]
    within: WithinMs | None = None
    synthetic: str | None = None
    """The column that holds the key, where no column of a source does."""
    parts: tuple[KeyPart, ...] = ()
    """Of a join on several columns: all of them, in the order of the key."""

    @property
    def is_table(self) -> bool:
        return self.how in (TABLE_TABLE, FOREIGN_KEY)

    @property
    def window(self) -> KeyWindow | None:
        return self.left.window

    @property
    def leaves(self) -> tuple[FromSource, ...]:
        return (*self.left.leaves, self.right)


From = FromSource | Joined
