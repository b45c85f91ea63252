"""The faster of the twins that each record passes which was read: native, or in plain Python.

`PENSTOCK_PURE_WALK=1` in the environment forces the pure one, as in `penstock.records.walk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.client.api import _taken_pure
from penstock.client.api._taken_pure import TIMESTAMP_TYPES
from penstock.records.walk import twin_of

__all__ = ["ACTIVE", "TIMESTAMP_TYPES", "last_messages", "plain_records"]

_twin: Final = twin_of(_taken_pure)

ACTIVE: Final = "pure" if _twin is _taken_pure else "native"

if TYPE_CHECKING:
    from penstock.client.api._taken_pure import last_messages, plain_records
else:
    last_messages = _twin.last_messages
    plain_records = _twin.plain_records
