"""What statements can name: streams, tables and types. A catalogue is a value; changing it makes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import RowSchema

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

    @property
    def columns(self) -> dict[str, t.SqlType]:
        """All columns that an expression may name, those of the system too."""
        own = {column.name: column.type for column in self.schema.columns}
        return {**own, **ROWTIME, **(WINDOW_BOUNDS if self.window else {})}


@dataclass(frozen=True)
class Catalogue:
    sources: Mapping[str, DataSource] = field(default_factory=lambda: MappingProxyType({}))
    types: Mapping[str, t.SqlType] = field(default_factory=lambda: MappingProxyType({}))

    def with_source(self, source: DataSource) -> Catalogue:
        return replace(self, sources=MappingProxyType({**self.sources, source.name: source}))

    def with_type(self, name: str, kind: t.SqlType) -> Catalogue:
        return replace(self, types=MappingProxyType({**self.types, name: kind}))
