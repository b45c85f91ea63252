"""What a consumer has subscribed to: names, or a pattern that this client matches itself, as Java's does.

librdkafka's own patterns are of another dialect, and under the newer protocol the broker's are of a third.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from typing import Any

from penstock.client.api.exceptions import ConfigException, translated

INTERNAL = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)


class Subscription:
    """`subscribe` is the library's, with the callbacks of rebalances bound."""

    def __init__(
        self, library: Any, subscribe: Callable[[list[str]], None], max_age_ms: int, *, with_internal: bool
    ) -> None:
        self._library = library
        self._subscribe = subscribe
        self._max_age = max_age_ms / 1000
        self._with_internal = with_internal
        self._pattern: re.Pattern[str] | None = None
        self._names: frozenset[str] = frozenset()
        self._looked = 0.0

    @property
    def names(self) -> frozenset[str]:
        return self._names

    @property
    def is_empty(self) -> bool:
        return self._pattern is None and not self._names

    def set(self, topics: Collection[str] | re.Pattern[str], timeout: float) -> None:
        if isinstance(topics, str):
            raise ConfigException(
                f"subscribe() takes a list of topics or a compiled pattern, not {topics!r}."
            )
        if isinstance(topics, re.Pattern):
            self._pattern = topics
            self._look(timeout)
        else:
            self._pattern = None
            self._take(frozenset(topics))

    def clear(self) -> None:
        self._pattern, self._names = None, frozenset()

    def refresh(self, timeout: float) -> None:
        """Topics come and go: look again when what is known is old, or nothing is."""
        age = min(self._max_age, 1.0) if not self._names else self._max_age
        if self._pattern is not None and time.monotonic() - self._looked > age:
            self._look(timeout)

    def _look(self, timeout: float) -> None:
        assert self._pattern is not None
        self._looked = time.monotonic()
        with translated("list the topics"):
            topics = self._library.list_topics(timeout=timeout).topics
        self._take(
            frozenset(
                name
                for name in topics
                if self._pattern.fullmatch(name) and (self._with_internal or name not in INTERNAL)
            )
        )

    def _take(self, names: frozenset[str]) -> None:
        if names == self._names:
            return
        with translated("subscribe"):
            if names:
                self._subscribe(sorted(names))
            else:
                self._library.unsubscribe()
        self._names = names
