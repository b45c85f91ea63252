"""Materialised views: the rows of a table's topic by their key, kept current in memory, for pull queries.

A view follows committed records only, so it never shows what a failed batch has done. It is opened by the
first pull query and stays until the table is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from penstock.plan.raw_records import RawRecord
from penstock.streams.changelog_follower import ChangelogFollower

TIMEOUT_S: Final = 60.0
WINDOW_BYTES: Final = {"TUMBLING": 8, "HOPPING": 8, "SESSION": 16}


class _Held(NamedTuple):
    value: bytes
    timestamp: int


class TableView:
    """`window` is the kind of the keys' windows, if they have any."""

    def __init__(
        self, bootstrap_servers: str, topic: str, window: str | None, security: Mapping[str, str]
    ) -> None:
        self.topic = topic
        self._suffix = WINDOW_BYTES[window] if window else 0
        self._lock = threading.Lock()
        self._rows: dict[tuple[int, bytes], _Held] = {}
        self._by_key: dict[bytes, set[tuple[int, bytes]]] = {}
        """Of windowed keys: all rows of a key."""
        self._follower = ChangelogFollower(bootstrap_servers, topic, self._put, TIMEOUT_S, security)
        self._follower.start()

    def wait_until_current(self) -> None:
        self._follower.wait_until_current()

    def close(self) -> None:
        self._follower.close()

    def _put(self, partition: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        place = (partition, key)
        with self._lock:
            if value is not None:
                self._rows[place] = _Held(value, timestamp)
                if self._suffix:
                    self._by_key.setdefault(key[: -self._suffix], set()).add(place)
            elif self._rows.pop(place, None) is not None and self._suffix:
                self._by_key[key[: -self._suffix]].discard(place)

    def of_keys(self, keys: Iterable[bytes]) -> list[RawRecord]:
        """The rows of these keys, all windows of each."""
        self._follower.check()
        with self._lock:
            return [record for key in keys for record in self._of_key(key)]

    def _of_key(self, key: bytes) -> Iterator[RawRecord]:
        if self._suffix:
            places = sorted(self._by_key.get(key, ()))
        else:
            places = [(number, key) for number in range(self._follower.partitions)]
        for place in places:
            held = self._rows.get(place)
            if held is not None:
                yield self._record(place, held)

    def all(self) -> list[RawRecord]:
        self._follower.check()
        with self._lock:
            return [self._record(place, held) for place, held in self._rows.items()]

    def _record(self, place: tuple[int, bytes], held: _Held) -> RawRecord:
        return RawRecord(self.topic, place[0], 0, held.timestamp, place[1], held.value)
