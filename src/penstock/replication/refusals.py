"""Batches of idempotent producers that a partition refused for reasons of its own, so that those sent behind
them are not called out of order.

A producer has up to five batches under way. When the first is refused because too few replicas are in sync,
and the next arrives when there are enough, its sequence is ahead of what the log expects. To call it out of
order would say that something is lost, and librdkafka then begins a new epoch for all its partitions: what
was written in another one without an acknowledgement is written again there, and nobody knows it for a copy.
So the next is answered as the first was: try again. Used by `Partition`, under its lock.
"""

from __future__ import annotations

from typing import Final

from penstock.protocol.errors import ErrorCode, KafkaError

MAX_FOLLOWING: Final = 4
"""So many batches may be under way behind one that is refused, before the producer knows of it."""
MAX_PRODUCERS: Final = 1_000

_REASONS: Final = frozenset(
    {
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Refusals:
    """The last refusal of each producer that has written nothing since."""

    def __init__(self) -> None:
        self.by_producer: dict[int, tuple[ErrorCode, str, int]] = {}
        """Code and message of a refusal, and how many batches behind it are still excused."""

    def answer(self, producer_id: int, error: KafkaError) -> KafkaError:
        """What to answer to a batch that cannot be appended because of `error`."""
        if error.code in _REASONS:
            self._remember(producer_id, error.code, error.message, MAX_FOLLOWING)
        elif error.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and producer_id in self.by_producer:
            code, message, excused = self.by_producer.pop(producer_id)
            if excused > 1:
                self._remember(producer_id, code, message, excused - 1)
            return KafkaError(code, message)
        return error

    def check_first(self, producer_id: int, sequence: int) -> None:
        """Of a producer that the log does not know any sequence is taken, but not behind a refused batch."""
        if sequence > 0 and producer_id in self.by_producer:
            message = f"producer {producer_id} begins at sequence {sequence}"
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)

    def _remember(self, producer_id: int, code: ErrorCode, message: str, excused: int) -> None:
        self.by_producer.pop(producer_id, None)
        self.by_producer[producer_id] = (code, message, excused)
        if len(self.by_producer) > MAX_PRODUCERS:
            del self.by_producer[next(iter(self.by_producer))]

    def forget(self, producer_id: int) -> None:
        """Something of this producer was appended."""
        self.by_producer.pop(producer_id, None)
