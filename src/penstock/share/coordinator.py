"""The share coordinator of a broker: finds the shard of a share partition and asks it.

Leaders of partitions keep their state here, through `share.states:States`. Every answer is a promise that is
done when what it rests on is committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from penstock.clock import Clock
from penstock.coordinator.decision import Decision
from penstock.coordinator.promise import Promise, failed
from penstock.coordinator.runtime import Runtime, not_coordinator
from penstock.coordinator.sharding import shard_of
from penstock.protocol.errors import KafkaError
from penstock.records.codecs import Codec
from penstock.share.shard import ShareShard
from penstock.share.state import PartitionState, SharePartitionKey

SHARE_TOPIC: Final = "__share_group_state"

_log = logging.getLogger(__name__)

T = TypeVar("T")


class ShareCoordinator:
    """All share partitions of this broker's shards. `runtime` is driven by `server`."""

    def __init__(self, clock: Clock, shard_count: Callable[[], int | None], codec: Codec) -> None:
        self._shard_count = shard_count
        self.topic = SHARE_TOPIC
        self.runtime: Runtime[ShareShard] = Runtime(SHARE_TOPIC, clock, ShareShard, codec)

    def topics_deleted(self, gone: Mapping[str, bytes]) -> None:
        """States of partitions of a topic that is gone go too. They are kept by topic id."""
        topic_ids = list(gone.values())
        for index in self.runtime.active_shards():
            try:
                self.runtime.submit(index, lambda shard: shard.delete_topics(topic_ids))
            except KafkaError as error:
                _log.warning("states of share groups in deleted topics stay: %s", error)

    def initialise(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[None]:
        return self._ask(key, lambda shard: shard.initialise(key, state_epoch, start_offset))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[PartitionState]:
        return self._ask(key, lambda shard: shard.read(key, leader_epoch))

    def write(self, key: SharePartitionKey, state: PartitionState) -> Promise[None]:
        return self._ask(key, lambda shard: shard.write(key, state))

    def delete(self, key: SharePartitionKey) -> Promise[None]:
        return self._ask(key, lambda shard: shard.delete(key))

    def summary(self, key: SharePartitionKey) -> Promise[PartitionState]:
        try:
            return self.runtime.read(self.shard_of(key.coordinator_key()), lambda shard: shard.summary(key))
        except KafkaError as error:
            return failed(error)

    def shard_of(self, key: str) -> int:
        """The partition of the internal topic that holds the share partition of this coordinator key."""
        count = self._shard_count()
        if count is None:
            raise not_coordinator(SHARE_TOPIC, 0)
        return shard_of(key, count)

    def _ask(self, key: SharePartitionKey, decide: Callable[[ShareShard], tuple[Decision, T]]) -> Promise[T]:
        try:
            return self.runtime.ask(self.shard_of(key.coordinator_key()), decide)
        except KafkaError as error:
            return failed(error)
