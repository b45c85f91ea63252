"""Blocking calls: bounded, answered, and no hindrance to the end of the process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from penstock.client.errors import TopicNotFound
from penstock.web.threads import Threads


def test_results_and_errors_come_back() -> None:
    async def body() -> None:
        threads = Threads(2, "test")
        assert await threads.call(pow, 2, 10) == 1024

        def fail() -> None:
            raise TopicNotFound("t")

        with pytest.raises(TopicNotFound):
            await threads.call(fail)

    asyncio.run(body())


def test_only_so_many_run_at_a_time() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.005)
        with lock:
            running -= 1

    async def body() -> None:
        threads = Threads(3, "test")
        await asyncio.gather(*(threads.call(work) for _ in range(20)))

    asyncio.run(body())
    assert most == 3


def test_a_cancelled_caller_gives_its_place_back_when_the_call_ends() -> None:
    async def body() -> None:
        threads = Threads(1, "test")
        go_on = threading.Event()
        waiting = asyncio.create_task(threads.call(go_on.wait, 10))
        await asyncio.sleep(0)
        waiting.cancel()
        after = asyncio.create_task(threads.call(pow, 2, 2))
        await asyncio.sleep(0.02)
        assert not after.done()
        go_on.set()
        assert await asyncio.wait_for(after, 5) == 4

    asyncio.run(body())


def test_a_call_that_still_waits_does_not_hold_up_the_end_of_the_process() -> None:
    code = (
        "import asyncio, threading\n"
        "from penstock.web.threads import Threads\n"
        "async def main():\n"
        "    asyncio.create_task(Threads(1, 'test').call(threading.Event().wait, 60))\n"
        "    await asyncio.sleep(0.05)\n"
        "asyncio.run(main())\n"
    )
    began = time.monotonic()
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0
    assert time.monotonic() - began < 20
