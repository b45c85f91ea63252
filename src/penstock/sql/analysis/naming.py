"""Names of a query's sources and columns: what each one means, and which are ambiguous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from penstock.expressions import types as t
from penstock.sql import statements as s
from penstock.sql.analysis.relations import FromSource
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope
from penstock.sql.sources import Catalogue, DataSource


def find_source(node: s.Source, catalogue: Catalogue) -> DataSource:
    found = catalogue.sources.get(node.name)
    if found is None:
        near = get_close_matches(node.name, catalogue.sources, 1)
        hint = f" Did you mean {near[0]}?" if near else " SHOW STREAMS and SHOW TABLES list what there is."
        raise SqlError(f"{node.name} does not exist.{hint}", *node.at)
    return found


def sources_of(node: s.Query, catalogue: Catalogue) -> list[FromSource]:
    """All sources of FROM in their order. In a join each has its alias before its columns."""
    listed = [node.source, *(join.right for join in node.joins)]
    found: list[FromSource] = []
    for each in listed:
        source = find_source(each, catalogue)
        alias = each.alias or each.name
        if any(known.source.name == source.name or known.alias == alias for known in found):
            what = "self joins are not yet supported."
            raise SqlError(f"Can not join '{each.name}' to '{each.name}': {what}", *each.at)
        prefix = f"{alias}_" if node.joins else ""
        found.append(FromSource(alias, source, prefix, each.at))
    return found


def clashing_names(leaves: list[FromSource]) -> frozenset[str]:
    """Columns that more than one source has."""
    counts = Counter(name for leaf in leaves for name, _ in leaf.columns())
    return frozenset(name for name, times in counts.items() if times > 1)


def scope_of(leaves: list[FromSource], catalogue: Catalogue) -> Scope:
    """What names mean over these sources."""
    if len(leaves) == 1:
        leaf = leaves[0]
        return Scope(dict(leaf.columns()), catalogue.types, {}, leaf.alias, functions=catalogue.functions)
    columns: dict[str, t.SqlType] = {}
    rows: dict[str, str] = {}
    owners: dict[str, list[str]] = {}
    for leaf, name, kind in _all_columns(leaves):
        known = f"{leaf.alias}.{name}"
        owners.setdefault(name, []).append(known)
        for written in (known, name):
            columns[written], rows[written] = kind, leaf.prefix + name
    ambiguous = {name: tuple(places) for name, places in owners.items() if len(places) > 1}
    for name in ambiguous:
        del columns[name], rows[name]
    aliases = frozenset(leaf.alias for leaf in leaves)
    return Scope(columns, catalogue.types, {}, None, rows, ambiguous, aliases, functions=catalogue.functions)


def _all_columns(leaves: list[FromSource]) -> Iterator[tuple[FromSource, str, t.SqlType]]:
    for leaf in leaves:
        for name, kind in leaf.columns():
            yield leaf, name, kind
