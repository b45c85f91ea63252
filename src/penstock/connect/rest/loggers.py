"""Levels of loggers, with Kafka's names of levels."""

from __future__ import annotations

import logging
from typing import Any, Final

from penstock.clock import SystemClock
from penstock.connect.worker import refusals

_TRACE: Final = 5
_TO_PYTHON: Final = {
    "TRACE": _TRACE, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING,
    "ERROR": logging.ERROR, "FATAL": logging.CRITICAL, "OFF": logging.CRITICAL + 10,
}  # fmt: skip
_FROM_PYTHON: Final = {
    _TRACE: "TRACE",
    logging.DEBUG: "DEBUG", logging.INFO: "INFO", logging.WARNING: "WARN", logging.ERROR: "ERROR",
    logging.CRITICAL: "FATAL", logging.CRITICAL + 10: "OFF",
}  # fmt: skip
ROOT: Final = "root"


class Loggers:
    def __init__(self) -> None:
        self._modified: dict[str, int] = {}

    def all(self) -> dict[str, Any]:
        return {name: self._shown(name) for name in (ROOT, *self._names())}

    def one(self, name: str) -> dict[str, Any]:
        if name != ROOT and name not in logging.root.manager.loggerDict:
            raise refusals.not_found(f"Logger {name} not found.")
        return self._shown(name)

    def set_level(self, name: str, level: Any) -> list[str]:
        """The logger and those below it, as far as this changed their level."""
        if not isinstance(level, str):
            raise refusals.bad_request("Desired 'level' parameter was not specified in request.")
        if level.upper() not in _TO_PYTHON:
            raise refusals.not_found(f"invalid log level '{level}'.")
        below = [each for each in self._names() if each.startswith(f"{name}.") or name == ROOT]
        wanted = _TO_PYTHON[level.upper()]
        changed = [each for each in sorted({name, *below}) if _logger(each).level != wanted]
        for each in changed:
            _logger(each).setLevel(wanted)
            self._modified[each] = SystemClock().now_ms()
        return changed

    def _names(self) -> list[str]:
        known = logging.root.manager.loggerDict
        return sorted(name for name, each in known.items() if isinstance(each, logging.Logger))

    def _shown(self, name: str) -> dict[str, Any]:
        level = _logger(name).getEffectiveLevel()
        return {"level": _FROM_PYTHON.get(level, "INFO"), "last_modified": self._modified.get(name)}


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
