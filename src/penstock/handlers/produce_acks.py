"""Batches that are written and wait until all replicas in sync have them (acks=all): purgatory for
`handlers.produce`.

With one replica nothing ever waits here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.clock import Clock
from penstock.handlers.reply import Reply, Wait
from penstock.protocol.errors import ErrorCode
from penstock.protocol.produce import PartitionResult, ProduceRequest, TopicResult
from penstock.replication.partition import Partition

ALL: Final = -1
MESSAGES: Final = {
    ErrorCode.REQUEST_TIMED_OUT: "The batch was written, and not replicated in time.",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "The batch was written, then too few replicas were in sync.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "Another broker leads since the batch was written.",
}


class _Written:
    """One batch in one partition."""

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
    """The batches of one request that are not on all replicas yet."""

    def __init__(self, produce: ProduceRequest) -> None:
        self.to_all = produce.acks == ALL
        self._timeout_ms = produce.timeout_ms
        self._written: dict[tuple[str | bytes, int], _Written] = {}
        self._deadline = 0.0
        self._results: list[TopicResult] = []
        self._answer: Callable[[list[TopicResult]], Reply] | None = None

    def __bool__(self) -> bool:
        return bool(self._written)

    def add(self, partition: Partition, end_offset: int, leader_epoch: int) -> None:
        """`leader_epoch` was the partition's before the write."""
        written = _Written(partition, end_offset, leader_epoch)
        for topic in (partition.topic, partition.topic_id):  # results name it one way or the other
            self._written[topic, partition.index] = written

    def wait(
        self, clock: Clock, results: list[TopicResult], answer: Callable[[list[TopicResult]], Reply]
    ) -> Reply | Wait:
        """Give `answer` the results as they are in the end; at the deadline too."""
        self._deadline = clock.monotonic() + max(0, self._timeout_ms) / 1000
        self._results, self._answer = results, answer
        return self.resume(expired=False)

    def resume(self, expired: bool) -> Reply | Wait:
        assert self._answer is not None, "nothing is waited for yet"
        batches = set(self._written.values())
        pending = [batch.partition for batch in batches if not batch.settle(expired=expired)]
        if pending:
            return Wait(pending, self._deadline, self.resume)
        return self._answer([self._settled(topic) for topic in self._results])

    def _settled(self, topic: TopicResult) -> TopicResult:
        name = topic.name or topic.topic_id
        return topic._replace(partitions=[self._result(name, result) for result in topic.partitions])

    def _result(self, topic: str | bytes, result: PartitionResult) -> PartitionResult:
        written = self._written.get((topic, result.partition))
        if written is None or written.code is None or written.code is ErrorCode.NONE:
            return result
        return PartitionResult(result.partition, written.code, message=MESSAGES.get(written.code))
