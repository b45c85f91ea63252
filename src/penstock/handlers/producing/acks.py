"""Batches that are written and wait until all replicas in sync have them (acks=all): purgatory for
`handlers.apis.produce`.

A partition with one replica never waits here: its batches are committed when they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.handlers.reply import Reply, Wait
from penstock.protocol.errors import ErrorCode
from penstock.protocol.produce import PartitionResult, TopicResult
from penstock.replication.partition import Partition
from penstock.replication.waiters import LookedAt

ALL: Final = -1
MESSAGES: Final = {
    ErrorCode.REQUEST_TIMED_OUT: "The batch was written, and not replicated in time.",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "The batch was written, then too few replicas were in sync.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "Another broker leads since the batch was written.",
}


class Written:
    """One batch in one partition. `leader_epoch` was the partition's before the write."""

    def __init__(self, partition: Partition, end_offset: int, leader_epoch: int) -> None:
        self.partition = partition
        self._made = (end_offset, leader_epoch)
        self.code: ErrorCode | None = None

    def settle(self, *, expired: bool) -> bool:
        """Whether its outcome is known; at the deadline it is."""
        if self.code is None:
            self.code = self.partition.acknowledgement(*self._made)
        if self.code is None and expired:
            self.code = ErrorCode.REQUEST_TIMED_OUT
        return self.code is not None


class Unacknowledged:
    """The batches of one request that are not on all replicas yet. `answer` gets the results as they are in
    the end, or at the `deadline`."""

    def __init__(
        self,
        batches: list[Written],
        deadline: float,
        results: list[TopicResult],
        answer: Callable[[list[TopicResult]], Reply],
    ) -> None:
        self._batches = batches
        self._deadline = deadline
        self._results = results
        self._answer = answer
        self._written: dict[tuple[str | bytes, int], Written] = {}
        for batch in batches:
            partition = batch.partition
            for topic in (partition.topic, partition.topic_id):  # results name it one way or the other
                self._written[topic, partition.index] = batch

    def resume(self, expired: bool) -> Reply | Wait:
        changes = [batch.partition.committed.changes for batch in self._batches]  # before the look
        pending, seen = [], []
        for batch, count in zip(self._batches, changes, strict=True):
            if not batch.settle(expired=expired):
                pending.append(batch.partition.committed)
                seen.append(count)
        if pending:
            return Wait((LookedAt(pending, seen),), self._deadline, self.resume)
        return self._answer([self._settled(topic) for topic in self._results])

    def _settled(self, topic: TopicResult) -> TopicResult:
        name = topic.name or topic.topic_id
        return topic._replace(partitions=[self._result(name, result) for result in topic.partitions])

    def _result(self, topic: str | bytes, result: PartitionResult) -> PartitionResult:
        written = self._written.get((topic, result.partition))
        if written is None or written.code is None or written.code is ErrorCode.NONE:
            return result
        return PartitionResult(result.partition, written.code, message=MESSAGES.get(written.code))
