"""`LatestByKey`: the simplest state of a replayed topic, the last value of each key.

topic = ReplayedTopic(settings, BytesCodec(), LatestByKey())
topic.change(lambda state: Decision([(b"job-1", b"running")], None))
topic.view.state.values[b"job-1"]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from penstock.client.frozen_map import FrozenMap

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)  # with slots, Python 3.11 cannot call LatestByKey[K, V]()
class LatestByKey(Generic[K, V]):
    """Records are pairs of key and value; a value of None takes the key away."""

    values: FrozenMap[K, V] = field(default_factory=FrozenMap)

    def replay(self, record: tuple[K, V | None]) -> LatestByKey[K, V]:
        key, value = record
        changed = self.values.without(key) if value is None else self.values.with_item(key, value)
        return LatestByKey(changed)

    def record_of(self, record: tuple[K, V | None]) -> tuple[K, V | None]:
        return record[0], self.values.get(record[0])


class BytesCodec:
    """Keys and values as they are."""

    def encode(self, record: tuple[bytes, bytes | None]) -> tuple[bytes, bytes | None]:
        return record

    def decode(
        self, key: bytes | None, value: bytes | None, _timestamp_ms: int | None
    ) -> tuple[bytes, bytes | None] | None:
        return None if key is None else (key, value)
