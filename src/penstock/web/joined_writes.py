"""`JoinedWrites`: the head of an answer and the first part of its body leave in one packet.

uvicorn writes both separately, and each write is a call into the kernel, the dearest step of a small answer.
The head waits for the body only within the same turn of the event loop: the head of a stream whose first part
comes later leaves at once. Put around the transport by `serving`.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

_BEGIN: Final = b"HTTP/1.1 "
_END: Final = b"\r\n\r\n"


class JoinedWrites:
    """A transport around another one. What it does not do itself, the other one does."""

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""
        """A head that waits for its body."""

    def write(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        elif data.startswith(_BEGIN) and data.endswith(_END):
            self._held = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            data, self._held = self._held, b""
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
