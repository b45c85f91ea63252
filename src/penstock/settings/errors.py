"""The one exception of this package: a setting that cannot be used.

The command line prints it; a handler answers INVALID_CONFIG with its text.
"""

from __future__ import annotations


class SettingError(ValueError):
    """A value that is not allowed. Its text is Kafka's own sentence; `allowed` says what would do."""

    def __init__(self, message: str, *, setting: str, value: str | None, allowed: str) -> None:
        super().__init__(message)
        self.setting = setting
        self.value = value
        self.allowed = allowed

    def explain(self) -> str:
        """The sentence for a person: what is wrong, and what would be right."""
        return f"{self} (allowed: {self.allowed})" if self.allowed else str(self)


def invalid(setting: str, value: str | None, why: str, allowed: str) -> SettingError:
    """Kafka's sentence for a bad value, as its ConfigException words it."""
    message = f"Invalid value {value} for configuration {setting}: {why}"
    return SettingError(message, setting=setting, value=value, allowed=allowed)
