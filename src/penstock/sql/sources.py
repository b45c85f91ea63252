"""What statements can name: streams, tables and types. A catalogue is a value; changing it makes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.python_functions import PythonFunction
from penstock.plan.row_schemas import ColumnSchema, RowSchema

ROWTIME: Final = {"ROWTIME": t.BIGINT, "ROWPARTITION": t.INTEGER, "ROWOFFSET": t.BIGINT}
"""Columns that every row has beside its own."""
WINDOW_BOUNDS: Final = {"WINDOWSTART": t.BIGINT, "WINDOWEND": t.BIGINT}
"""Columns of rows whose key has a window."""
SYSTEM_COLUMNS: Final = frozenset({*ROWTIME, *WINDOW_BOUNDS})


@dataclass(frozen=True)
class KeyWindow:
    """The window in a topic's keys."""

    kind: str
    """TUMBLING, HOPPING or SESSION."""
    size_ms: int | None
    """None for SESSION, whose keys hold both ends."""


@dataclass(frozen=True)
class DataSource:
    """A stream or a table over a topic."""

    kind: str
    """STREAM or TABLE."""
    name: str
    topic: str
    schema: RowSchema
    timestamp_column: str | None = None
    timestamp_format: str | None = None
    """None: the column is a number or a TIMESTAMP."""
    window: KeyWindow | None = None
    read_only: bool = False
    """CREATE SOURCE …"""
    headers: tuple[tuple[str, str | None], ...] = ()
    """Columns that hold all headers (None) or the last one of a name."""
    partitions: int | None = None
    """Of its topic, where that is known."""
    is_derived: bool = False
    """Made by AS SELECT: a table of this kind is materialised."""
    lifetime_ms: int | None = None
    """WITH (TTL=…): how long a row of a table stays after its last change."""
    query: Any = None
    """Of a query in parentheses: the `AnalysedQuery` that makes its rows. It has no topic then."""

    @property
    def stored(self) -> tuple[ColumnSchema, ...]:
        """The columns of a record's value: all but those of its headers."""
        headers = {name for name, _ in self.headers}
        return tuple(column for column in self.schema.value if column.name not in headers)

    @property
    def columns(self) -> dict[str, t.SqlType]:
        """All columns that an expression may name, those of the system too."""
        own = {column.name: column.type for column in self.schema.columns}
        return {**own, **ROWTIME, **(WINDOW_BOUNDS if self.window else {})}


@dataclass(frozen=True)
class Catalogue:
    sources: Mapping[str, DataSource] = field(default_factory=lambda: MappingProxyType({}))
    types: Mapping[str, t.SqlType] = field(default_factory=lambda: MappingProxyType({}))
    functions: Mapping[str, PythonFunction] = field(default_factory=lambda: MappingProxyType({}))
    """Functions of users, by name."""

    def with_function(self, function: PythonFunction) -> Catalogue:
        return replace(self, functions=MappingProxyType({**self.functions, function.name: function}))

    def without_function(self, name: str) -> Catalogue:
        kept = {known: each for known, each in self.functions.items() if known != name}
        return replace(self, functions=MappingProxyType(kept))

    def with_source(self, source: DataSource) -> Catalogue:
        return replace(self, sources=MappingProxyType({**self.sources, source.name: source}))

    def without_source(self, name: str) -> Catalogue:
        kept = {known: source for known, source in self.sources.items() if known != name}
        return replace(self, sources=MappingProxyType(kept))

    def without_type(self, name: str) -> Catalogue:
        kept = {known: kind for known, kind in self.types.items() if known != name}
        return replace(self, types=MappingProxyType(kept))

    def with_type(self, name: str, kind: t.SqlType) -> Catalogue:
        return replace(self, types=MappingProxyType({**self.types, name: kind}))
