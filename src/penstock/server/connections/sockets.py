"""A first attempt at receiving and sending that never waits, and therefore keeps the GIL.

Python releases the GIL around every call of a socket, also around one that is done in microseconds. Among
sixteen busy connections on two cores, each release wakes a thread on the other core, and the first thread
then waits for the GIL: that took longer than the requests themselves. `_sockets_native` (Cython) makes the
call without waiting and without releasing the GIL. The ordinary call follows only if this one would have to
wait. Without a compiler there is no such attempt, and `NOT_NOW` says so. Called by
`penstock.server.connections.transport`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

NOT_NOW: Final = -1
"""Nothing could be received or sent without waiting."""
SMALL_BYTES: Final = 64 * 1024
"""More than this is copied for too long to keep others from running."""


def never(fd: int, data: memoryview | bytes, flags: int = 0) -> int:
    """Stands for both attempts where there is no native module."""
    return NOT_NOW


if TYPE_CHECKING:

    def receive_now(fd: int, view: memoryview) -> int:
        """The number of bytes received, 0 at the end of the stream; NOT_NOW, or OSError."""

    def send_now(fd: int, data: bytes, flags: int) -> int:
        """The number of bytes that were taken; NOT_NOW, or OSError."""

else:
    try:
        _native = import_module("penstock.server.connections._sockets_native")
        receive_now, send_now = _native.receive_now, _native.send_now
    except ImportError:
        receive_now = send_now = never
