"""Blocking calls from the event loop, a bounded number at a time, in threads that do not hold up the
process's end.

`concurrent.futures` joins its threads when Python ends, so that stopping a service would wait for every
call to a broker that does not answer. These threads are daemons. Used by the console and the REST Proxy.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    def __init__(self, most: int, name: str) -> None:
        self._slots = asyncio.Semaphore(most)
        self._name = name

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function returns or raises.

        If the caller is cancelled, its slot stays taken until the call ends.
        """
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def finish(result: T | None, error: Exception | None) -> None:
            self._slots.release()
            if answer.cancelled():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            result, error = None, None
            try:
                result = function(*arguments)
            except Exception as raised:
                error = raised
            with suppress(RuntimeError):  # the loop may have been closed meanwhile
                loop.call_soon_threadsafe(finish, result, error)

        threading.Thread(target=work, name=self._name, daemon=True).start()
        return await answer
