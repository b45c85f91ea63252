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
ProduceNow = Callable[[bytes], Answer | None]
"""The same for a record that need not wait for anything; None for others."""
LATER: Final[Any] = object()


class RecordStream(Response):
    """`produce_now`, and where that gives nothing `produce`, is called for each value in turn. Values come as
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
        self._pending: asyncio.Queue[Answer | None] = asyncio.Queue(pending_max)

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
                for value in values:
                    await self._add(self._produce_now(value) or await self._produce(value))
        except HttpError as error:
            await self._pending.put(_settled(ErrorBody(error.error_code, error.message)))
        except TimeoutError:
            await self._pending.put(
                _settled(
                    ErrorBody(408, f"Nothing arrived for {self._idle_s:g} s. Connection will be closed.")
                )
            )
        except ClientDisconnect:
            pass
        except Exception:  # a bug; the client sees that its stream has ended
            _log.exception("a stream of records failed")
            await self._pending.put(_settled(ErrorBody(50001, "Internal Server Error")))
        await self._pending.put(None)

    async def _add(self, answer: Answer) -> None:
        if self._pending.full():
            await self._pending.put(answer)
        else:
            self._pending.put_nowait(answer)

    async def _write(self, send: Send) -> None:
        """Answers that are there already share a chunk."""
        answer = await self._pending.get()
        while answer is not None:
            chunk = bytearray(_line(await answer))
            answer = self._next_of(chunk)
            async with asyncio.timeout(self._idle_s):
                await send({"type": "http.response.body", "body": bytes(chunk), "more_body": True})
            if answer is LATER:
                answer = await self._pending.get()

    def _next_of(self, chunk: bytearray) -> Any:
        """Adds to the chunk what is ready. Then comes None at the end, or LATER."""
        while not self._pending.empty():
            answer = self._pending.get_nowait()
            if answer is None or not answer.done() or len(chunk) > CHUNK_BYTES:
                return answer
            chunk += _line(answer.result())
        return LATER


def _line(answer: Any) -> bytes:
    return msgspec.json.encode(answer) + SEPARATOR


def _settled(body: ErrorBody) -> Answer:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(body)
    return future
