"""Many records at once: validated, or laid out as columns for Arrow, without a Python object for each.

The work is done by one of two twins: `_walk_native` (Cython, without the GIL, 100 times faster), which is
there when a compiler was found at installation, or `_walk_pure`. `ACTIVE` says which;
`PENSTOCK_PURE_WALK=1` in the environment forces the pure one. Payloads are the records sections of batches,
already decompressed, and are treated as hostile. The broker calls `validate`; readers of many records
(`penstock.spark`) fill a `ColumnBuilder`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

from penstock.records import _walk_pure
from penstock.records._walk_pure import (
    NULL_KEY,
    TIMESTAMP_RANGE,
    BinaryColumn,
    Columns,
    HeaderColumns,
    RefusedRecord,
)

__all__ = [
    "ACTIVE",
    "NULL_KEY",
    "TIMESTAMP_RANGE",
    "BinaryColumn",
    "ColumnBuilder",
    "Columns",
    "HeaderColumns",
    "RefusedRecord",
    "accept",
    "validate",
]


def _load_twin() -> object:
    if os.environ.get("PENSTOCK_PURE_WALK") == "1":
        return _walk_pure
    try:
        return import_module("penstock.records._walk_native")
    except ImportError:
        return _walk_pure


_twin: Final = _load_twin()

ACTIVE: Final = "pure" if _twin is _walk_pure else "native"


def twin_of(pure: object) -> object:
    """The module that stands for this pure one: the native walk, or itself."""
    return pure if ACTIVE == "pure" else _twin


if TYPE_CHECKING:
    from penstock.records._walk_pure import ColumnBuilder, accept, validate
else:
    accept = _twin.accept
    ColumnBuilder = _twin.ColumnBuilder
    validate = _twin.validate
