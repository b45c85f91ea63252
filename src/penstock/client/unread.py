"""How old the first record is that a group has not read: its lag in seconds.

Kafka's brokers know offsets only, so the record itself is read: one from each partition that lags.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.client.admin import Partition
from penstock.client.librdkafka import Connection
from penstock.client.reading import open_consumer

WAIT_S = 0.5
PARTITIONS_MAX = 500
"""So many partitions are asked at once; a group that lags in more is told about these."""


def first_unread_ms(
    connection: Connection, offsets: Mapping[Partition, int], timeout_s: float
) -> dict[Partition, int]:
    """The timestamp of the record at each offset, or of the first that follows. A partition from which
    nothing came in time is left out."""
    from confluent_kafka import TopicPartition

    wanted = dict(list(offsets.items())[:PARTITIONS_MAX])
    found: dict[Partition, int] = {}
    if not wanted:
        return found
    deadline = time.monotonic() + timeout_s
    with open_consumer(connection, queued_min_messages=1, fetch_wait_max_ms=100) as consumer:
        consumer.assign([TopicPartition(topic, index, offset) for (topic, index), offset in wanted.items()])
        while len(found) < len(wanted) and time.monotonic() < deadline:
            message = consumer.poll(WAIT_S)
            if message is None or message.error() is not None:
                continue
            at = (message.topic(), message.partition())
            kind, timestamp_ms = message.timestamp()
            if at not in found:
                found[at] = timestamp_ms if kind else 0
                consumer.pause([TopicPartition(*at)])
    return {at: timestamp_ms for at, timestamp_ms in found.items() if timestamp_ms}
