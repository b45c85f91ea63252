"""The request that a connection serves: its name in log lines, and a line when it took long.

`kafka.request.logger` is the name of Kafka's log of requests. Requests whose time is measured are looked at:
the first thousand of an API, then one in eight, and all that wait for something. Produce requests that are
served without the GIL (`plain.py`) are timed for metrics, and never logged.
"""

from __future__ import annotations

import logging
from typing import Final

from penstock.protocol.apis import Api

LOGGER: Final = "kafka.request.logger"
WAITS_ARE_ASKED_FOR: Final = frozenset({Api.FETCH, Api.SHARE_FETCH, Api.JOIN_GROUP, Api.SYNC_GROUP})
"""A client of these says how long it waits, or waits for other clients."""
_log = logging.getLogger(LOGGER)


class CurrentRequest:
    """One for each connection; changed with each request, and written out only where a line is logged."""

    __slots__ = ("_host", "_limit_s", "api", "asked")

    def __init__(self, host: str, limit_ms: int) -> None:
        self._host = host
        self._limit_s = limit_ms / 1000 if limit_ms else float("inf")
        self.api: Api | None = None
        self.asked: tuple[int, int, str | None] = (0, 0, None)
        """Version, correlation id and client id."""

    def __bool__(self) -> bool:
        return self.api is not None

    def __str__(self) -> str:
        version, correlation_id, client_id = self.asked
        name = "" if self.api is None else self.api.name
        return f"{client_id or '-'}@{self._host} {name} v{version} #{correlation_id}"

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """`waited_s` of the seconds were a wait."""
        counted = seconds - waited_s if self.api in WAITS_ARE_ASKED_FOR else seconds
        if counted > self._limit_s:
            _log.warning(
                "slow request: %s took %.0f ms, %.0f of them waiting", self, seconds * 1000, waited_s * 1000
            )
