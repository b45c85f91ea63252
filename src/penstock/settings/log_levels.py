"""Levels of loggers while a process runs, with Kafka's names of levels. Connect's REST API, a broker's
`broker-loggers` and the signal of a service use it."""

from __future__ import annotations

import logging
from typing import Final

ROOT: Final = "root"
_TRACE: Final = 5
LEVELS: Final = {
    "TRACE": _TRACE, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING,
    "ERROR": logging.ERROR, "FATAL": logging.CRITICAL, "OFF": logging.CRITICAL + 10,
}  # fmt: skip
_NAMES: Final = {level: name for name, level in LEVELS.items()}


def logger_names() -> list[str]:
    """Loggers of this process and the packages above them, without the root."""
    return sorted(logging.root.manager.loggerDict)


def exists(name: str) -> bool:
    return name == ROOT or name in logging.root.manager.loggerDict


def level_of(name: str) -> str:
    """The level that counts for a logger, its own or that of a logger above it."""
    number = _logger(name).getEffectiveLevel()
    return _NAMES.get(number) or next(text for level, text in sorted(_NAMES.items()) if level >= number)


def own_level(name: str) -> int:
    """0 for a logger that follows the one above it."""
    return _logger(name).level


def set_level(name: str, level: str) -> None:
    _logger(name).setLevel(LEVELS[level])


def clear_level(name: str) -> None:
    """The logger follows the one above it again."""
    _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
