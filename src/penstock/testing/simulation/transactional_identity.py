"""What a simulated transactional producer is to the brokers, and what it says to them, in Kafka's fields.

Whom it asks and what comes of the answers is told by its owners: `transactions` on one node,
`cluster.transactional` in a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.records.record import Record as Encoded
from penstock.records.record import encode_batch
from penstock.testing.history.events import Value


class TransactionalIdentity:
    """A transactional id, the producer id and epoch that it has now, and the next sequence number."""

    def __init__(self, transactional_id: str, timeout_ms: int) -> None:
        self.sequence = 0
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._producer = (-1, -1)

    def take(self, answer: Any) -> None:
        """The answer gives a producer id and an epoch; under new ones sequence numbers begin anew."""
        given = (int(answer.producer_id), int(answer.producer_epoch))
        if given != self._producer:
            self._producer, self.sequence = given, 0

    def init_fields(self) -> dict[str, Any]:
        return {
            "transactional_id": self._id,
            "transaction_timeout": self._timeout_ms,
            "producer_id": -1,
            "producer_epoch": -1,
        }

    def add_fields(self, topic: str, partitions: Iterable[int]) -> dict[str, Any]:
        return {
            "v3_and_below_transactional_id": self._id,
            "v3_and_below_producer_id": self._producer[0],
            "v3_and_below_producer_epoch": self._producer[1],
            "v3_and_below_topics": [{"name": topic, "partitions": list(partitions)}],
        }

    def batch(self, values: Sequence[Value], now_ms: int) -> bytes:
        """One batch under the next sequence number, which is advanced when all partitions have theirs."""
        return bytes(
            encode_batch(
                [Encoded(None, value.encode(), (), now_ms) for value in values],
                producer_id=self._producer[0],
                producer_epoch=self._producer[1],
                base_sequence=self.sequence,
                transactional=True,
            )
        )

    def produce_fields(self, topic: str, batches: dict[int, bytes], timeout_ms: int) -> dict[str, Any]:
        """Batches by partition."""
        partitions = [{"index": number, "records": data} for number, data in batches.items()]
        topics = [{"name": topic, "partition_data": partitions}]
        return {"transactional_id": self._id, "acks": -1, "timeout": timeout_ms, "topic_data": topics}

    def end_fields(self, *, commit: bool) -> dict[str, Any]:
        return {
            "transactional_id": self._id,
            "producer_id": self._producer[0],
            "producer_epoch": self._producer[1],
            "committed": commit,
        }
