"""When the keys of a token issuer are asked for again. Pure: the caller knows the time and does the asking.

Keys are fetched each `refresh_ms`. After a failure they are fetched sooner, with pauses that grow from
`backoff_ms` to `backoff_max_ms`; the old keys stay. A token with an unknown key expedites the next fetch, at
most once in `EXPEDITE_MS`: a stranger with invented key ids must not make this broker flood the issuer.
"""

from __future__ import annotations

from typing import Final

EXPEDITE_MS: Final = 10_000.0


class JwksRefresh:
    """The times at which keys are fetched, of one monotonic clock in milliseconds."""

    def __init__(self, now_ms: float, refresh_ms: float, backoff_ms: float, backoff_max_ms: float) -> None:
        self._refresh_ms = refresh_ms
        self._backoff_ms = backoff_ms
        self._backoff_max_ms = max(backoff_ms, backoff_max_ms)
        self._failures = 0
        self._expedited_ms: float | None = None
        self.due_ms = now_ms
        """When the next fetch is due."""

    def succeeded(self, now_ms: float) -> None:
        self._failures = 0
        self.due_ms = now_ms + self._refresh_ms

    def failed(self, now_ms: float) -> None:
        pause_ms = min(self._backoff_max_ms, self._backoff_ms * 2.0 ** min(self._failures, 30))
        self._failures += 1
        self.due_ms = now_ms + pause_ms

    def expedite(self, now_ms: float) -> bool:
        """A key is not among those that are known. Whether the next fetch is due at once because of it."""
        if self._expedited_ms is not None and now_ms < self._expedited_ms + EXPEDITE_MS:
            return False
        self._expedited_ms = now_ms
        self.due_ms = min(self.due_ms, now_ms)
        return True
