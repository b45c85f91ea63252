"""Arrow batches to topics, packed and sent by our own connection (`penstock.wire`): idempotent, acks=all."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from penstock.client.api.exceptions import (
    ApiException,
    KafkaException,
    SerializationException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from penstock.records.codecs import Codec
from penstock.wire.cluster import Cluster
from penstock.wire.errors import DeliveryFailed, UnknownTopic, WireError
from penstock.wire.produce import Producer, ProducerOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.client.arrow.routing import Router

COLUMNS: Final = frozenset({"key", "value", "partition", "timestamp", "headers"})


class ArrowSender:
    """One idempotent producer for all batches. After a failure it is done: what it wrote is unknown."""

    def __init__(self, cluster: Cluster, codec: Codec, delivery_seconds: float) -> None:
        self._cluster = cluster
        self._producer = Producer(cluster, ProducerOptions(codec=codec, delivery_seconds=delivery_seconds))
        self._delivery_seconds = delivery_seconds
        self._routers: dict[str, Router] = {}
        self._lock = Lock()

    @property
    def acknowledged(self) -> int:
        return self._producer.acknowledged

    def send(self, topic: str, batch: pa.RecordBatch) -> None:
        """Pack the rows; batches that are full are sent. Rows of one partition keep their order."""
        from penstock.client.arrow.routing import Router, UnusableRow

        columns = _checked(batch)
        with self._lock:
            router = self._routers.get(topic)
            if router is None:
                router = Router(self._cluster, self._producer, topic, self._delivery_seconds)
                self._routers[topic] = router
            try:
                router.send(batch, columns)
            except UnusableRow as error:
                raise SerializationException(f"Cannot send to {topic!r}: {error}.") from error
            except WireError as error:
                raise _translated(error, topic) from error

    def flush(self) -> None:
        """On return everything is acknowledged."""
        with self._lock:
            for topic, router in self._routers.items():
                try:
                    router.flush()
                except WireError as error:
                    raise _translated(error, topic) from error

    def close(self) -> None:
        self._cluster.close()


def _checked(batch: pa.RecordBatch) -> frozenset[str]:
    names = set(batch.schema.names)
    if unknown := sorted(names - COLUMNS):
        raise SerializationException(
            f"A batch to send has no column {unknown[0]!r}; its columns are {', '.join(sorted(COLUMNS))}."
        )
    if "value" not in names:
        raise SerializationException("A batch to send has a column 'value'; null values are tombstones.")
    return frozenset(names)


def _translated(error: WireError, topic: str) -> KafkaException:
    if isinstance(error, UnknownTopic):
        return UnknownTopicOrPartitionException(
            f"Cannot send to {topic!r}: {error}.", "UNKNOWN_TOPIC_OR_PART"
        )
    if isinstance(error, DeliveryFailed):
        return TimeoutException(f"Cannot send to {topic!r}: {error}.", "_MSG_TIMED_OUT")
    return ApiException(f"Cannot send to {topic!r}: {error}.")
