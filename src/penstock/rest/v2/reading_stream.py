"""Records as a stream, for clients that ask for one by `Accept`: lines of JSON, or server-sent events.

The stream goes on until the client leaves, `timeout` is over, or the instance can read no more: an error is
the last line then. Called by the version-2 consumer routes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.rest.v2.shapes import ReadRecord
from penstock.web.errors import ErrorBody, HttpError

LINES: Final = "application/x-ndjson"
EVENTS: Final = "text/event-stream"
STREAMS: Final = (LINES, EVENTS)
PIECE_S: Final = 0.1
"""How long records are gathered before they are sent."""

Read = Callable[[float], Awaitable[list[ReadRecord]]]
"""Records of so many seconds."""


class ReadingStream(Response):
    def __init__(self, read: Read, media_type: str, seconds: float | None) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._read = read
        self._events = media_type == EVENTS
        self._seconds = seconds

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        gone = asyncio.create_task(_left(receive))
        try:
            await self._write(send, gone)
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:  # the client is gone
            return
        finally:
            gone.cancel()

    async def _write(self, send: Send, gone: asyncio.Task[None]) -> None:
        end = None if self._seconds is None else time.monotonic() + self._seconds
        while not gone.done() and (end is None or time.monotonic() < end):
            try:
                lines = [self._line(each) for each in await self._read(PIECE_S)]
                last = False
            except HttpError as error:
                lines, last = [self._line(ErrorBody(error.error_code, error.message), "error")], True
            if lines:
                await send({"type": "http.response.body", "body": b"".join(lines), "more_body": True})
            if last:
                return

    def _line(self, what: ReadRecord | ErrorBody, event: str = "") -> bytes:
        text = msgspec.json.encode(what)
        if not self._events:
            return text + b"\n"
        return (f"event: {event}\n".encode() if event else b"") + b"data: " + text + b"\n\n"


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
