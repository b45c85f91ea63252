"""All partitions that this broker serves, by name. `server.following.follower` adds and removes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.partition import Partition
from penstock.storage.tail import PURE, Kind


class Partitions:
    """A map that is read by every request and changed by the metadata follower alone."""

    def __init__(
        self, exists: Callable[[str, int], bool] = lambda topic, index: False, tails: Kind = PURE
    ) -> None:
        """`exists` says whether the metadata has a partition, wherever its replicas are; `tails` which tails
        the logs have."""
        self._exists = exists
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._unopened: dict[tuple[str, int], bool] = {}  # and whether its log is lost
        self._lock = Lock()
        self.tails = tails.tails()
        """Where plain batches may be appended without Python."""

    def add(self, partition: Partition) -> None:
        with self._lock:
            self._partitions[partition.topic, partition.index] = partition
            tail, index = partition.log.lock, partition.index
            self.tails.add(partition.topic.encode(), index, tail, by_id=False)
            self.tails.add(partition.topic_id, index, tail, by_id=True)
            self._unopened.pop((partition.topic, partition.index), None)

    def add_unopened(self, topic: str, index: int, *, lost: bool) -> None:
        """A partition that belongs here, but whose log directory cannot be used: it has failed, and what was
        in it is `lost` with it, or it is full."""
        with self._lock:
            self._unopened[topic, index] = lost

    def is_lost(self, topic: str, index: int) -> bool:
        """Whether the partition belongs here, and its log is in a directory that could not be opened."""
        return self._unopened.get((topic, index), False)

    def is_offline(self, topic: str, index: int) -> bool:
        """Whether the partition belongs here and cannot be served, from the start on or since its disk
        failed."""
        partition = self._partitions.get((topic, index))
        return (topic, index) in self._unopened if partition is None else partition.is_offline

    def remove(self, topic: str, index: int) -> Partition | None:
        """Take the partition out; requests that wait for it are woken to learn that it is gone."""
        with self._lock:
            partition = self._partitions.pop((topic, index), None)
            self._unopened.pop((topic, index), None)
        if partition is not None:
            partition.mark_deleted()
            self.tails.remove(topic.encode(), index, by_id=False)
            self.tails.remove(partition.topic_id, index, by_id=True)
        return partition

    def settle(self) -> None:
        """Let every log account for what its tail has taken."""
        for partition in self:
            if partition.log.lock.ahead >= 0:
                with partition.to_read:
                    pass

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def get(self, topic: str, index: int) -> Partition:
        partition = self._partitions.get((topic, index))
        if partition is None:
            if (topic, index) in self._unopened:
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR, f"The log directory of {topic}-{index} is offline."
                )
            elsewhere = self._exists(topic, index)
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER if elsewhere else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"This server does not host {topic}-{index}.",
            )
        return partition

    def __iter__(self) -> Iterator[Partition]:
        with self._lock:
            return iter(list(self._partitions.values()))

    def __len__(self) -> int:
        return len(self._partitions)
