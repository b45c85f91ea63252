"""What a client asks the cluster about topics, with Java's deadlines."""

from __future__ import annotations

import time
from threading import Event
from typing import Any, Final, NamedTuple

from penstock.client.api.exceptions import (
    InvalidTopicException,
    KafkaException,
    TimeoutException,
    TopicAuthorizationException,
    from_librdkafka,
)

_RETRY_SECONDS: Final = 0.1
_FINAL: Final = (InvalidTopicException, TopicAuthorizationException)


class PartitionInfo(NamedTuple):
    topic: str
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]


class TopicPartitions:
    """The number of partitions of each topic, asked for once and again when it is old or too small."""

    def __init__(self, client: Any, max_age_ms: int) -> None:
        self._client = client
        self._max_age = max_age_ms / 1000
        self._known: dict[str, int] = {}
        self.known_until: dict[str, float] = {}
        """The monotonic time at which the number is too old; shared with the short way of sending."""
        self._closed = Event()

    def count(self, topic: str, max_block_ms: int, at_least: int = 1) -> int:
        """How many there are. Waits for a topic, or a partition of it, that is not there yet."""
        if self.knows(topic, at_least):
            return self._known[topic]
        deadline = time.monotonic() + max_block_ms / 1000
        count = 0
        while True:
            count = self._ask(topic, deadline) or count
            if count >= at_least:
                self._known[topic] = count
                self.known_until[topic] = time.monotonic() + self._max_age
                return count
            if time.monotonic() >= deadline:
                raise TimeoutException(_missing(topic, count, at_least, max_block_ms), "_TIMED_OUT")
            self._closed.wait(min(_RETRY_SECONDS, max(deadline - time.monotonic(), 0)))

    def knows(self, topic: str, at_least: int = 1) -> bool:
        """Whether `count` answers without asking."""
        found = self._known.get(topic)
        return found is not None and found >= at_least and time.monotonic() < self.known_until[topic]

    def _ask(self, topic: str, deadline: float) -> int:
        """Zero while nobody knows it."""
        import confluent_kafka

        try:
            answer = self._client.list_topics(topic, timeout=max(deadline - time.monotonic(), 0.001))
        except confluent_kafka.KafkaException as error:
            return _zero_unless_final(from_librdkafka(error, f"ask for topic {topic!r}"))
        found = answer.topics[topic]
        if found.error is not None:
            return _zero_unless_final(from_librdkafka(found.error, f"ask for topic {topic!r}"))
        return len(found.partitions)


def partitions_for(client: Any, topic: str, timeout: float) -> list[PartitionInfo]:
    import confluent_kafka

    try:
        found = client.list_topics(topic, timeout=timeout).topics[topic]
    except confluent_kafka.KafkaException as error:
        raise from_librdkafka(error, f"ask for topic {topic!r}") from error
    if found.error is not None:
        raise from_librdkafka(found.error, f"ask for topic {topic!r}")
    return [
        PartitionInfo(
            topic, each.id, each.leader if each.leader >= 0 else None, tuple(each.replicas), tuple(each.isrs)
        )
        for each in sorted(found.partitions.values(), key=lambda each: each.id)
    ]


def _zero_unless_final(error: KafkaException) -> int:
    if isinstance(error, _FINAL):
        raise error
    return 0


def _missing(topic: str, count: int, at_least: int, max_block_ms: int) -> str:
    if count:
        return (
            f"Partition {at_least - 1} of topic {topic} with partition count {count} is not present in "
            "metadata "
            f"after {max_block_ms} ms."
        )
    return f"Topic {topic} not present in metadata after {max_block_ms} ms."
