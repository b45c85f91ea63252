"""Partitioners of sinks. A windowed key goes where its key without the window goes, as in Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.kernels.record import Windowed
from penstock.kernels.serdes import Serde, SessionWindowedSerde, TimeWindowedSerde
from penstock.wire.partitioner import partition_for_key


@dataclass(frozen=True)
class WindowedKeyPartitioner:
    inner: Serde[Any]

    def __call__(self, topic: str, key: Windowed, value: Any, partitions: int) -> int:
        return partition_for_key(self.inner.serialize(topic, key.key), partitions)


def partitioner_for(key_serde: Serde[Any]) -> Callable[..., int] | None:
    """None: by the bytes of the key."""
    if isinstance(key_serde, TimeWindowedSerde | SessionWindowedSerde):
        return WindowedKeyPartitioner(key_serde.inner)
    return None
