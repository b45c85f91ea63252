"""An answer that is written while the request is still being read: a line for each record, in their order.

A bounded number of records is under way. When the client does not read its answers, nothing more is read
from it; when nothing moves for too long, the stream ends with an error as its last line.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Final, Protocol

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.web.errors import ErrorBody, HttpError

_log = logging.getLogger(__name__)
SEPARATOR: Final = b"\r\n"
CHUNK_BYTES: Final = 32 * 1024


class Answer(Protocol):
    """What becomes of a record: a future, or what has one."""

    def done(self) -> bool: ...

    def result(self) -> Any: ...

    def __await__(self) -> Generator[Any, None, Any]: ...


Produce = Callable[[bytes], Awaitable[Answer]]
ProduceNow = Callable[[list[bytes]], tuple[int, Answer | None]]
"""The same for records that need not wait for anything, those at the beginning of the list: how many, and
what becomes of them. Their answers come together, as the bytes of their lines."""
TOGETHER: Final = 250
"""Records that share an answer at most."""
LATER: Final[Any] = object()


class RecordStream(Response):
    """`produce_now` is called for the values, and `produce` for each that it does not take. Values come as
    lists of those that arrived together."""

    media_type = "application/json"

    def __init__(
        self,
        values: AsyncIterator[list[bytes]],
        produce_now: ProduceNow,
        produce: Produce,
        pending_max: int,
        idle_s: float,
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._values = values
        self._produce_now = produce_now
        self._produce = produce
        self._idle_s = idle_s
        self._pending: asyncio.Queue[tuple[Answer, int] | None] = asyncio.Queue()
        """With how many records each answer is of."""
        self._pending_max = pending_max
        self._records = 0
        """Under way, and not answered yet."""
        self._room = asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        reading = asyncio.create_task(self._read())
        try:
            await self._write(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, OSError):  # the client does not read or is gone, so no error can be sent
            return
        finally:
            reading.cancel()

    async def _read(self) -> None:
        """Until the body ends, or cannot be read any further."""
        try:
            while True:
                async with asyncio.timeout(self._idle_s):
                    values = await anext(self._values, None)
                if values is None:
                    break
                for at in range(0, len(values), TOGETHER):
                    await self._take(values[at : at + TOGETHER])
        except HttpError as error:
            self._end_with(ErrorBody(error.error_code, error.message))
        except TimeoutError:
            self._end_with(
                ErrorBody(408, f"Nothing arrived for {self._idle_s:g} s. Connection will be closed.")
            )
        except ClientDisconnect:
            pass
        except Exception:  # a bug; the client sees that its stream has ended
            _log.exception("a stream of records failed")
            self._end_with(ErrorBody(50001, "Internal Server Error"))
        self._pending.put_nowait(None)

    async def _take(self, values: list[bytes]) -> None:
        while values:
            await self._wait_for_room(len(values))
            count, answer = self._produce_now(values)
            if answer is not None:
                self._add(answer, count)
            if count < len(values):
                self._add(await self._produce(values[count]), 1)
            values = values[count + 1 :]

    async def _wait_for_room(self, count: int) -> None:
        """More records than may be under way wait until none is."""
        while self._records and self._records + count > self._pending_max:
            self._room.clear()
            await self._room.wait()

    def _add(self, answer: Answer, count: int) -> None:
        self._records += count
        self._pending.put_nowait((answer, count))

    def _end_with(self, body: ErrorBody) -> None:
        self._pending.put_nowait((_settled(body), 0))

    async def _write(self, send: Send) -> None:
        """Answers that are there already share a chunk."""
        pending = await self._pending.get()
        while pending is not None:
            answer, count = pending
            chunk = bytearray(_lines(await answer))
            self._answered(count)
            pending = self._next_of(chunk)
            async with asyncio.timeout(self._idle_s):
                await send({"type": "http.response.body", "body": bytes(chunk), "more_body": True})
            if pending is LATER:
                pending = await self._pending.get()

    def _next_of(self, chunk: bytearray) -> Any:
        """Adds to the chunk what is ready. Then comes None at the end, or LATER."""
        while not self._pending.empty():
            pending = self._pending.get_nowait()
            if pending is None or not pending[0].done() or len(chunk) > CHUNK_BYTES:
                return pending
            chunk += _lines(pending[0].result())
            self._answered(pending[1])
        return LATER

    def _answered(self, count: int) -> None:
        self._records -= count
        self._room.set()


def _lines(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else msgspec.json.encode(answer) + SEPARATOR


def _settled(body: ErrorBody) -> Answer:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(body)
    return future
