"""What all coordinators of a broker have in common: a kind, an internal topic, and shards behind it.

To add a kind of coordinator: one member of `CoordinatorKind`, a class that satisfies `Coordinator`, one line
in `server.composition.coordinators`, and its internal topic in `handlers.topic_creation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

from penstock.coordinator.runtime import Runtime


class CoordinatorKind(IntEnum):
    """Kafka's codes of the kinds, as FindCoordinator has them."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class Coordinator(Protocol):
    """Answers for the keys of one kind: group ids, transactional ids."""

    @property
    def topic(self) -> str:
        """The internal topic that holds everything it knows; each partition is a shard."""
        ...

    @property
    def runtime(self) -> Runtime[Any]: ...

    def shard_of(self, key: str) -> int:
        """The partition of the internal topic that holds the key; KafkaError while there is no such topic."""
        ...

    def topics_deleted(self, gone: Mapping[str, bytes]) -> None:
        """These topics are gone, with these ids: whatever is known of their partitions goes too."""
        ...
