"""The real backend's search: a stream read in a thread, a moment at a time, so that it can be cancelled."""

from __future__ import annotations

import threading
import time

from penstock.client.paging import Message
from penstock.client.stream import Stream
from penstock.console.searching import Progress, Scan
from penstock.web.threads import Threads

MOMENT_S = 0.3
"""How long one look reads: also how soon a cancel is noticed."""
BATCH = 5_000
STALL_S = 10.0
"""Without a record for so long the search is over: compaction and markers leave offsets without records."""


class ClientSearch:
    def __init__(self, stream: Stream, scan: Scan, threads: Threads) -> None:
        self._stream, self._scan, self._threads = stream, scan, threads
        self._one_at_a_time = threading.Lock()
        self._total = scan.total
        self._last_record = time.monotonic()

    async def poll(self) -> Progress:
        return await self._threads.call(self._poll)

    async def close(self) -> None:
        await self._threads.call(self._close)

    def _poll(self) -> Progress:
        with self._one_at_a_time:
            hits: list[Message] = []
            until = time.monotonic() + MOMENT_S
            while not self._scan.done and time.monotonic() < until:
                messages = self._stream.poll(0.1, BATCH)
                if messages:
                    self._last_record = time.monotonic()
                    hits += self._scan.take(messages)
                self._pass_over_gaps()
            stalled = time.monotonic() - self._last_record > STALL_S
            return Progress(tuple(hits), self._scan.scanned, self._total, self._scan.done or stalled)

    def _pass_over_gaps(self) -> None:
        """The end of a partition was reached though its last offsets hold no record."""
        for partition, end in self._stream.ends.items():
            if partition in self._scan.positions:
                self._scan.positions[partition] = max(self._scan.positions[partition], end)

    def _close(self) -> None:
        with self._one_at_a_time:
            self._stream.close()
