"""The faster of the twins that each sent record passes: native, or in plain Python.

`PENSTOCK_PURE_WALK=1` in the environment forces the pure one, as in `penstock.records.walk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.client.api import _sent_pure
from penstock.client.api._sent_pure import BURST, OVERHEAD_BYTES, Callback, metadata_of, waiting
from penstock.records.walk import twin_of

__all__ = [
    "ACTIVE",
    "BURST",
    "OVERHEAD_BYTES",
    "Callback",
    "Report",
    "Sends",
    "Wave",
    "metadata_of",
    "waiting",
]

_twin: Final = twin_of(_sent_pure)

ACTIVE: Final = "pure" if _twin is _sent_pure else "native"

if TYPE_CHECKING:
    from penstock.client.api._sent_pure import Report, Sends, Wave
else:
    Sends = _twin.Sends
    Report = _twin.Report
    Wave = _twin.Wave
