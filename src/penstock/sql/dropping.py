"""DROP STREAM and DROP TABLE: what must be gone before a source can go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.sources import Catalogue, DataSource


class RunningQuery(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def sink(self) -> DataSource: ...
    @property
    def reads(self) -> tuple[str, ...]: ...


def check_drop(
    node: s.DropSource, catalogue: Catalogue, queries: Mapping[str, RunningQuery]
) -> DataSource | None:
    """The source to drop; none if there is none and that is no error."""
    source = catalogue.sources.get(node.name)
    if source is None:
        if node.if_exists:
            return None
        raise SqlError(f"Source {node.name} does not exist.", *node.at)
    if source.kind != node.kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind}, but statement was DROP {node.kind}", *node.at
        )
    if node.delete_topic and source.read_only:
        raise SqlError(f"Cannot delete topic of read-only source: {node.name}", *node.at)
    readers = sorted({q.sink.name for q in queries.values() if node.name in q.reads})
    if readers:
        raise SqlError(
            f"Cannot drop {node.name}.\n"
            f"The following streams and/or tables read from this source: [{', '.join(readers)}].\n"
            f"You need to drop them before dropping {node.name}.",
            *node.at,
        )
    writers = sorted(q.id for q in queries.values() if q.sink.name == node.name and not _is_own(q))
    if writers:
        raise SqlError(
            f"Cannot drop {node.name}.\n"
            f"The following queries write into this source: [{', '.join(writers)}].\n"
            "You need to terminate them before dropping it.",
            *node.at,
        )
    return source


def _is_own(query: RunningQuery) -> bool:
    """Whether a query made its sink, and goes with it."""
    return query.id.startswith((f"CSAS_{query.sink.name}_", f"CTAS_{query.sink.name}_"))
