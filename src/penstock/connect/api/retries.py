"""Trying again what may pass: for connectors whose settings say how often, and how long to wait between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from penstock.connect.api.config_def import ConfigKey, Importance, Kind, at_least
from penstock.connect.errors import RetriableError

T = TypeVar("T")
DELAY_MAX_MS: Final = 60_000
_NEVER: Final = threading.Event()  # waiting for it is sleeping


class Retries(NamedTuple):
    """`most` times after the first; each pause is twice the one before, with some chance in it."""

    most: int
    backoff_ms: int

    def run(self, operation: Callable[[], T], *, sleep: Callable[[float], object] = _NEVER.wait) -> T:
        """The result of the operation, which raises RetriableError for what may pass."""
        for number in range(self.most):
            try:
                return operation()
            except RetriableError as error:
                delay_ms = min(self.backoff_ms << min(number, 16), DELAY_MAX_MS) * Random().uniform(0.5, 1)
                sleep(max(delay_ms, float(getattr(error, "delay_ms", 0))) / 1000)
        return operation()


def retry_keys(most: int, backoff_ms: int, *, group: str | None = None) -> list[ConfigKey]:
    """`max.retries` and `retry.backoff.ms`, as many connectors name them."""
    more: dict[str, Any] = {"importance": Importance.MEDIUM, "group": group, "validator": at_least(0)}
    return [
        ConfigKey(
            "max.retries", Kind.INT, most, doc="How often it is tried again before the task fails.", **more
        ),
        ConfigKey(
            "retry.backoff.ms",
            Kind.INT,
            backoff_ms,
            doc="The first pause between two attempts in milliseconds; each is twice the one before.",
            **more,
        ),
    ]
