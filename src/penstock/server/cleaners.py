"""The threads that compact logs, as many as `log.cleaner.threads` says, also when it changes."""

from __future__ import annotations

import logging
import threading
from typing import Final

from penstock.handlers.broker import Broker
from penstock.storage.cleaner import LogCleaner

LONGEST_PAUSE_SECONDS: Final = 60.0
SHORTEST_BACKOFF_SECONDS: Final = 0.05

_log = logging.getLogger(__name__)


class CleanerThreads:
    """Each compacts the dirtiest log that no other has in hand, and rests when there is none."""

    def __init__(self, cleaner: LogCleaner, broker: Broker) -> None:
        self._cleaner = cleaner
        self._broker = broker
        self._stopped = threading.Event()
        self._threads: dict[int, threading.Thread] = {}

    def adjust(self) -> None:
        """Start the threads that are missing; those that are too many end by themselves. For every second."""
        if self._stopped.is_set() or not self._broker.settings.log_cleaner_enable:
            return
        for number in range(self._broker.settings.log_cleaner_threads):
            thread = self._threads.get(number)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(
                    target=self._run, args=(number,), name=f"cleaner-{number}", daemon=True
                )
                self._threads[number] = thread
                thread.start()

    def close(self) -> None:
        """End soon, whatever is in progress."""
        self._cleaner.stop()
        self._stopped.set()
        for thread in self._threads.values():
            thread.join()

    def _run(self, number: int) -> None:
        while not self._stopped.is_set() and number < self._broker.settings.log_cleaner_threads:
            cleaned = False
            try:
                cleaned = self._cleaner.clean_next(self._pause)
            except Exception:
                _log.exception("compaction failed; it is tried again")
            if not cleaned:
                backoff = self._broker.settings.log_cleaner_backoff_ms / 1000
                self._pause(max(SHORTEST_BACKOFF_SECONDS, backoff))

    def _pause(self, seconds: float) -> None:
        self._stopped.wait(min(seconds, LONGEST_PAUSE_SECONDS))
