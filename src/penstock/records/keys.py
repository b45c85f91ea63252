"""The keys of many records: which offset is the last of each, and what compaction leaves of a batch.

`OffsetMap` is native and works without the GIL where `penstock.records.walk` does; otherwise it is the pure
twin. Payloads are the records sections of batches, already decompressed. The cleaner
(`penstock.storage.compaction`) calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.records import _keys_pure, walk
from penstock.records._keys_pure import SECRET_BYTES, Sifted

__all__ = ["SECRET_BYTES", "SLOT_BYTES", "OffsetMap", "Sifted"]

if TYPE_CHECKING:
    from penstock.records._keys_pure import SLOT_BYTES, OffsetMap
else:
    _twin = walk.twin_of(_keys_pure)
    OffsetMap = _twin.OffsetMap
    SLOT_BYTES = _twin.SLOT_BYTES
