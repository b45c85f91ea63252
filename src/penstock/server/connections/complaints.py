"""Warnings about bad connections, at a bounded rate: a scanner or a broken client must not fill the log.

Of each period of `PERIOD_SECONDS` the first `MOST` warnings are written. The others are counted, and the
count is written when the period is over. Called by the threads of connections; `tick` by the housekeeper.
"""

from __future__ import annotations

import logging
from threading import Lock
from typing import Final

from penstock.clock import Clock

PERIOD_SECONDS: Final = 10.0
MOST: Final = 10

_log = logging.getLogger(__name__)


class Complaints:
    """One for all connections of a server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._began = clock.monotonic()
        self._written = 0
        self._suppressed = 0

    def warn(self, host: str, problem: object) -> None:
        """The client's fault: its connection was closed."""
        if self._may_write():
            _log.warning("connection from %s closed: %s", host, problem)

    def error(self, host: str) -> None:
        """Our fault: the present exception, with its traceback."""
        if self._may_write():
            _log.exception("connection from %s closed: a request could not be served", host)

    def tick(self) -> None:
        """Say how much was left out, once the period is over."""
        with self._lock:
            suppressed = self._end_period()
        _tell(suppressed)

    def _may_write(self) -> bool:
        with self._lock:
            suppressed = self._end_period()
            may_write = self._written < MOST
            if may_write:
                self._written += 1
            else:
                self._suppressed += 1
        _tell(suppressed)
        return may_write

    def _end_period(self) -> int:
        """How many warnings of the period that is over were left out."""
        now = self._clock.monotonic()
        if now - self._began < PERIOD_SECONDS:
            return 0
        suppressed, self._suppressed = self._suppressed, 0
        self._began, self._written = now, 0
        return suppressed


def _tell(suppressed: int) -> None:
    if suppressed:
        _log.warning("%d more connections were closed for such reasons, without a line each", suppressed)
