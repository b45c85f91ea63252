"""WITH name AS (SELECT …): the query takes the place of its name wherever that is a source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.sql import statements as s
from penstock.sql.errors import SqlError

MOST_SELECTS = 100
"""Of one statement, after names were replaced: a name may stand many times in one that stands many times."""


def with_named_queries(query: s.Query, named: Iterable[Any]) -> s.Query:
    """Later queries may name earlier ones."""
    known: dict[str, s.Query] = {}
    for name, given in named:
        known[name] = bounded(_replaced(given, known))  # each one: together they could grow beyond counting
    return bounded(_replaced(query, known))


def bounded(query: s.Query) -> s.Query:
    """The query; SqlError where it has too many SELECTs."""
    if _count(query) > MOST_SELECTS:
        raise SqlError(f"the statement has more than {MOST_SELECTS} SELECTs: split it up", *query.at)
    return query


def _replaced(query: s.Query, known: dict[str, s.Query]) -> s.Query:
    return replace(
        query,
        source=_source(query.source, known),
        joins=tuple(replace(join, right=_source(join.right, known)) for join in query.joins),
        union=tuple(_replaced(each, known) for each in query.union),
    )


def _source(source: s.Source, known: dict[str, s.Query]) -> s.Source:
    if source.query is not None:
        return replace(source, query=_replaced(source.query, known))
    if source.name not in known:
        return source
    alias = source.alias or source.name
    return replace(source, name=alias, alias=alias, query=known[source.name])


def _count(query: s.Query) -> int:
    sources = (query.source, *(join.right for join in query.joins))
    inner = sum(_count(source.query) for source in sources if source.query is not None)
    return 1 + inner + sum(map(_count, query.union))
