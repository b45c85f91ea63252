"""Levels of loggers, as Kafka Connect's REST API shows and sets them."""

from __future__ import annotations

from typing import Any

from penstock.clock import SystemClock
from penstock.connect.worker import refusals
from penstock.settings import log_levels
from penstock.settings.log_levels import LEVELS, ROOT


class Loggers:
    def __init__(self) -> None:
        self._modified: dict[str, int] = {}

    def all(self) -> dict[str, Any]:
        return {name: self._shown(name) for name in (ROOT, *log_levels.logger_names())}

    def one(self, name: str) -> dict[str, Any]:
        if not log_levels.exists(name):
            raise refusals.not_found(f"Logger {name} not found.")
        return self._shown(name)

    def set_level(self, name: str, level: Any) -> list[str]:
        """The logger and those below it, as far as this changed their level."""
        if not isinstance(level, str):
            raise refusals.bad_request("Desired 'level' parameter was not specified in request.")
        if level.upper() not in LEVELS:
            raise refusals.not_found(f"invalid log level '{level}'.")
        below = [each for each in log_levels.logger_names() if each.startswith(f"{name}.") or name == ROOT]
        wanted = level.upper()
        changed = [each for each in sorted({name, *below}) if log_levels.own_level(each) != LEVELS[wanted]]
        for each in changed:
            log_levels.set_level(each, wanted)
            self._modified[each] = SystemClock().now_ms()
        return changed

    def _shown(self, name: str) -> dict[str, Any]:
        return {"level": log_levels.level_of(name), "last_modified": self._modified.get(name)}
