"""Reading and writing at a place in a file, so that what is small keeps the GIL.

A few pages are copied within microseconds: a write goes to the page cache and the disk comes later, and what
is read was mostly written a moment ago. To let go of the GIL for that, as Python does, costs more than the
copy where many connections want it. `_files_native` keeps it. A read that would have to wait for the disk is
told so by the system, and made again in the ordinary way. A write may wait, when more is dirty than the disk
can take, and everybody would wait with it; so whenever one took longer than five milliseconds, those of the
next second let go of the GIL as usual. Without a compiler all of them do. Called by `penstock.storage.disk`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:

    def read(fd: int, size: int, position: int) -> bytes:
        """As `os.pread`, and like it possibly less than there is."""

    def write(fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """As `os.pwrite`."""

else:
    try:
        _native = import_module("penstock.storage._files_native")
        read, write = _native.read, _native.write
    except ImportError:
        read, write = os.pread, os.pwrite
