"""Kafka clients for Python.

For people: `Producer`, `Consumer` and what they take and raise, with Java's names and meanings
(`penstock.client.api`). For the command line and the services: `admin.Admin`, `messages.Messages` and the
modules beside them. The binding (librdkafka) is imported when the first client is made, and a name of the
library when it is first used, so that `penstock --help` loads neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.client.api.aio import AsyncConsumer as AsyncConsumer
    from penstock.client.api.aio import AsyncProducer as AsyncProducer
    from penstock.client.api.consumer import Consumer as Consumer
    from penstock.client.api.futures import RecordFuture as RecordFuture
    from penstock.client.api.producer import Producer as Producer
    from penstock.client.api.rebalancing import RebalanceListener as RebalanceListener
    from penstock.client.api.records import ConsumerRecord as ConsumerRecord
    from penstock.client.api.records import ConsumerRecords as ConsumerRecords
    from penstock.client.api.records import OffsetAndMetadata as OffsetAndMetadata
    from penstock.client.api.records import OffsetAndTimestamp as OffsetAndTimestamp
    from penstock.client.api.records import ProducerRecord as ProducerRecord
    from penstock.client.api.records import RecordMetadata as RecordMetadata
    from penstock.client.api.records import TopicPartition as TopicPartition

_HOMES = {
    "AsyncConsumer": "aio",
    "AsyncProducer": "aio",
    "Consumer": "consumer",
    "Producer": "producer",
    "RecordFuture": "futures",
    "RebalanceListener": "rebalancing",
    **dict.fromkeys(
        (
            "ConsumerRecord",
            "ConsumerRecords",
            "OffsetAndMetadata",
            "OffsetAndTimestamp",
            "ProducerRecord",
            "RecordMetadata",
            "TopicPartition",
        ),
        "records",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"penstock.client.api.{_HOMES[name]}"), name)
    for module in ("serializers", "partitioners", "exceptions"):
        if name.endswith(_ENDINGS[module]):
            found = getattr(import_module(f"penstock.client.api.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_ENDINGS = {
    "serializers": ("Serializer", "Deserializer"),
    "partitioners": ("Partitioner", "ClusterView"),
    "exceptions": ("Exception",),
}
