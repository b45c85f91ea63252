"""Writing at a place in a file, so that small writes keep the GIL.

A write of a few pages takes microseconds: the kernel copies them, and the disk comes later. To let go of the
GIL for that, as Python does, costs more than the write where many connections want it. `_files_native` keeps
it. A write may wait all the same, when more is dirty than the disk can take; then everybody would wait with
it. So whenever one took longer than five milliseconds, those of the next second let go of the GIL as usual.
Without a compiler all of them do. Called by `penstock.storage.disk`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:

    def write(fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """As `os.pwrite`."""

else:
    try:
        write = import_module("penstock.storage._files_native").write
    except ImportError:
        write = os.pwrite
