"""What goes wrong in Connect.

ConnectError
├── ConfigError     a setting of a connector, converter or transform: names it, its value and what is expected
├── DataError       a record: its schema and value do not fit, or cannot be converted
└── RetriableError  the same may succeed when it is tried again
"""

from __future__ import annotations

from typing import Any, Self


class ConnectError(Exception):
    """Every error of this package."""


class ConfigError(ConnectError):
    def __init__(self, name: str, value: Any, why: str) -> None:
        super().__init__(
            f"Invalid value {'null' if value is None else value} for configuration {name}: {why}"
        )
        self.name = name

    @classmethod
    def of(cls, name: str, sentence: str) -> Self:
        """With words of its own."""
        made = cls(name, None, "")
        made.args = (sentence,)
        return made


class DataError(ConnectError):
    """Kafka Connect's DataException."""


class RetriableError(ConnectError):
    """The same may succeed when it is tried again: a server was not there for a moment."""
