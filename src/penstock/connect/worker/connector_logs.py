"""The last lines that each connector has logged, for the REST API."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any, Final

from penstock.clock import SystemClock

PREFIX: Final = "penstock.connect.connectors."
KEPT: Final = 1000
"""Lines of each connector."""


def logger_of(name: str) -> logging.Logger:
    """Of one connector; what its tasks log comes out here, too."""
    return logging.getLogger(PREFIX + name)


class ConnectorLogs(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: dict[str, deque[dict[str, Any]]] = {}
        self._held = threading.Lock()

    def attach(self) -> None:
        parent = logging.getLogger(PREFIX.rstrip("."))
        parent.addHandler(self)
        parent.setLevel(min(parent.getEffectiveLevel(), logging.INFO))

    def detach(self) -> None:
        logging.getLogger(PREFIX.rstrip(".")).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        line = {
            "timestamp": SystemClock().now_ms(),
            "level": "WARN" if record.levelname == "WARNING" else record.levelname,
            "message": self.format(record),
        }
        with self._held:
            name = record.name.removeprefix(PREFIX)
            self._lines.setdefault(name, deque(maxlen=KEPT)).append(line)

    def last(self, name: str, count: int) -> list[dict[str, Any]]:
        with self._held:
            return list(self._lines.get(name, ()))[-count:] if count > 0 else []

    def forget(self, name: str) -> None:
        with self._held:
            self._lines.pop(name, None)
