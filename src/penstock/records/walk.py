"""Many records at once: validated, or laid out as columns for Arrow, without a Python object for each.

The work is done by twins: native ones (Cython, without the GIL, 100 times faster), which are there when a
compiler was found at installation, or those in plain Python. `ACTIVE` says which; `PENSTOCK_PURE_WALK=1` in
the environment forces the pure ones. Payloads are the records sections of batches, already decompressed, and
are treated as hostile. The broker calls `validate`; readers of many records (`penstock.spark`) fill a
`ColumnBuilder`.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from penstock.records import _columns_pure, _walk_pure
from penstock.records._columns_pure import BinaryColumn, Columns, HeaderColumns
from penstock.records._walk_pure import NULL_KEY, TIMESTAMP_RANGE, RefusedRecord

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
    "refusals",
    "validate",
]


def twin_of(pure: ModuleType) -> ModuleType:
    """The module that stands for this pure one: its native twin, or itself."""
    if os.environ.get("PENSTOCK_PURE_WALK") == "1":
        return pure
    try:
        return import_module(pure.__name__.removesuffix("_pure") + "_native")
    except ImportError:
        return pure


_twin: Final = twin_of(_walk_pure)

ACTIVE: Final = "pure" if _twin is _walk_pure else "native"

if TYPE_CHECKING:
    from penstock.records._columns_pure import ColumnBuilder
    from penstock.records._walk_pure import accept, refusals, validate
else:
    accept = _twin.accept
    refusals = _twin.refusals
    validate = _twin.validate
    ColumnBuilder = twin_of(_columns_pure).ColumnBuilder
