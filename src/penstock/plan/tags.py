"""The names under which parts of a plan are written down. They stay when a class moves to another module.

A class that is renamed keeps its tag: give it one in `RENAMED`. A new class of these modules has its own name
as its tag; a test sees to it that no two have the same.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from types import ModuleType
from typing import Final

from penstock.kernels import (
    aggregates,
    expressions,
    foreign_key,
    lifetimes,
    lookup_joins,
    processor,
    serdes,
    sessions,
    sliding,
    stateless,
    store_specs,
    stream_joins,
    suppress,
    table_joins,
    tables,
    timestamps,
    windowed,
    windows,
)
from penstock.plan import (
    errors,
    nodes,
    plain_serde,
    plan,
    row_aggregates,
    row_functions,
    row_joins,
    row_keys,
    row_schemas,
    row_steps,
    row_times,
)

MODULES: Final[tuple[ModuleType, ...]] = (
    aggregates,
    expressions,
    foreign_key,
    lifetimes,
    lookup_joins,
    processor,
    serdes,
    sessions,
    sliding,
    stateless,
    store_specs,
    stream_joins,
    suppress,
    table_joins,
    tables,
    timestamps,
    windowed,
    windows,
    errors,
    nodes,
    plain_serde,
    plan,
    row_aggregates,
    row_functions,
    row_joins,
    row_keys,
    row_schemas,
    row_steps,
    row_times,
)

RENAMED: Final[dict[type, str]] = {}
"""Classes whose tag is not their name."""


def _classes(module: ModuleType) -> list[type]:
    found = (value for value in vars(module).values() if isinstance(value, type))
    return [
        kind
        for kind in found
        if kind.__module__ == module.__name__ and (is_dataclass(kind) or issubclass(kind, Enum))
    ]


TAGS: Final[dict[type, str]] = {
    kind: RENAMED.get(kind, kind.__name__) for module in MODULES for kind in _classes(module)
}
CLASSES: Final[dict[str, type]] = {tag: kind for kind, tag in TAGS.items()}
