"""Small writes that keep the GIL.

A write of a few pages takes microseconds: the kernel copies them, and the disk comes later. To let go of the
GIL for that, as Python does, costs more than the write where many connections want it. `_files_native` keeps
it. A write may wait all the same, when more is dirty than the disk can take; then everybody would wait with
it. So whenever one took longer than five milliseconds, those of the next second let go of the GIL as usual.
Without a compiler all of them do. Called by `penstock.storage.disk`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

SMALL_BYTES: Final = 64 * 1024
NOT_NOW: Final = -1


def never(fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
    """Stands for the attempt where there is no native module."""
    return NOT_NOW


if TYPE_CHECKING:

    def write_now(fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """The number of bytes that were written; NOT_NOW, or OSError."""

else:
    try:
        write_now = import_module("penstock.storage._files_native").write_now
    except ImportError:
        write_now = never


def write(fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
    """As `os.pwrite`."""
    if len(data) <= SMALL_BYTES and (count := write_now(fd, data, position)) != NOT_NOW:
        return count
    return os.pwrite(fd, data, position)
