"""The key of a query's result: which columns of the projection it is, under which names."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.expressions import tree as e
from penstock.sql.analysis.projection import OutputColumn
from penstock.sql.analysis.relations import KeyColumn
from penstock.sql.errors import SqlError
from penstock.sql.syntax import Position


@dataclass(frozen=True)
class KeySource:
    """The key before the projection: its columns, and what made it, for messages."""

    columns: tuple[KeyColumn, ...]
    made_by: str
    """`key column`, `grouping expression`, `partitioning expression` or `join expression`."""
    synthetic: bool = False


@dataclass(frozen=True)
class OutputKey:
    """A key column of the result: its name, and its name in the row."""

    name: str
    column: KeyColumn


def find_key(
    source: KeySource, columns: tuple[OutputColumn, ...], sink: str | None, at: Position
) -> tuple[OutputKey, ...]:
    """The key columns among the output. With a sink all of them must be there, each once."""
    found: list[OutputKey] = []
    missing: list[KeyColumn] = []
    for column in source.columns:
        places = _places(column, columns)
        if not places:
            missing.append(column)
            continue
        if len(places) > 1 and sink is not None:
            _refuse_copies(column, places)
        found.append(OutputKey(places[0].name, column))
    if missing and sink is not None:
        _refuse_missing(source, missing, sink, at)
    return tuple(found)


def _places(column: KeyColumn, columns: tuple[OutputColumn, ...]) -> list[OutputColumn]:
    """Where the preferred one of a key's columns stands."""
    for name in column.names:
        places = [each for each in columns if each.expression == e.Column(name, column.type)]
        if places:
            return places
    return []


def _refuse_copies(column: KeyColumn, places: list[OutputColumn]) -> None:
    names = [f"`{place.name}`" for place in places]
    listed = " and ".join([", ".join(names[:-1]), names[-1]])
    shown = (column.shown or column.names)[0]
    raise SqlError(
        f"The projection contains a key column (`{shown}`) more than once, aliased as: {listed}.\n"
        "Each key column must only be in the projection once. If you intended to copy the key into the "
        "value, then consider using the AS_VALUE function to indicate which key reference should be copied.",
        *places[1].at,
    )


def _refuse_missing(source: KeySource, missing: list[KeyColumn], sink: str, at: Position) -> None:
    names = [(column.shown or column.names) for column in source.columns]
    if source.made_by == "join expression" and len(names) == 1 and len(names[0]) > 1:
        listed, example, plural = " or ".join(_commas(names[0])), names[0][0], "s"
    else:
        flat = [each[0] for each in names]
        listed, example = _and(flat), ", ".join(flat)
        plural = "s" if len(flat) > 1 else ""
    message = (
        "Key missing from projection (ie, SELECT). See https://cnfl.io/2LV7ouS.\n"
        f"The query used to build `{sink}` must include the {source.made_by}{plural} {listed} in its "
        f"projection (eg, SELECT {example}...)."
    )
    if source.synthetic:
        message += (
            f"\n{names[0][0]} was added as a synthetic key column because the join criteria did not match "
            "any source column. This expression must be included in the projection and may be aliased. "
        )
    raise SqlError(message, *at)


def _commas(names: tuple[str, ...]) -> list[str]:
    return [", ".join(names[:-1]), names[-1]] if len(names) > 2 else list(names)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else " and ".join([", ".join(names[:-1]), names[-1]])
