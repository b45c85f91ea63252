"""Settings of a transform: typed reads with Kafka's messages for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.connect.errors import ConfigError


class Settings:
    """What stands behind `transforms.NAME.` in a connector's configuration."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)

    def text(self, name: str, default: str | None = None) -> str | None:
        value = self._given.get(name, default)
        return None if value is None else str(value)

    def needed(self, name: str) -> str:
        value = self._given.get(name)
        if value is None:
            raise MissingSetting(name)
        return str(value)

    def non_empty(self, name: str) -> str:
        value = self.needed(name)
        if not value.strip():
            raise ConfigError(name, value, "String must be non-empty")
        return value

    def texts(self, name: str, *, needed: bool = False) -> list[str]:
        value = self._given.get(name)
        if value is None:
            if needed:
                raise MissingSetting(name)
            return []
        if isinstance(value, (list, tuple)):
            return [str(each) for each in value]
        return [each.strip() for each in str(value).split(",")] if str(value).strip() else []

    def flag(self, name: str, default: bool) -> bool:
        value = self._given.get(name)
        if value is None:
            return default
        text = str(value).strip().lower()
        if text not in ("true", "false"):
            raise ConfigError(name, value, "Expected value to be either true or false")
        return text == "true"

    def whole(self, name: str) -> int | None:
        value = self._given.get(name)
        try:
            return None if value is None else int(str(value).strip())
        except ValueError:
            raise ConfigError(name, value, "Not a number of type INT") from None

    def one_of(self, name: str, allowed: Sequence[str], default: str | None = None) -> str:
        value = self._given.get(name, default)
        if value is None:
            raise MissingSetting(name)
        if str(value) not in allowed:
            raise ConfigError(name, value, f"String must be one of: {', '.join(allowed)}")
        return str(value)


class MissingSetting(ConfigError):
    def __init__(self, name: str) -> None:
        Exception.__init__(self, f'Missing required configuration "{name}" which has no default value.')
        self.name = name
