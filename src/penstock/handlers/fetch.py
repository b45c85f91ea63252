"""Fetch, v4-v17. Records are sent from the file; a request for more than there is waits, without polling, for
the next append.

On purpose unlike Kafka: no fetch session is kept yet, so each request names all of its partitions (a client
that is given session id 0 does just that), and reads are never served by followers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Part, Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.fetch import (
    TOPIC_IDS_FROM,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionAnswer,
    TopicAnswer,
    encode_response,
    read_request,
)
from penstock.replication.partition import Partition
from penstock.storage.errors import StorageError

VERSIONS: Final = (4, 17)
MAX_WAIT_MS: Final = (
    300_000  # an empty answer after five minutes is as good as one after a year, and frees the thread
)

_log = logging.getLogger(__name__)


def handle(request: Request, broker: Broker) -> Reply | Wait:
    fetch = read_request(request.reader, request.version)
    if fetch.session_id != 0:
        return _encode(request.version, [], ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if fetch.replica_id >= 0 and not request.may(broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER):
        return _encode(request.version, [], ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    attempt = _attempt(request, fetch, broker)
    return attempt(fetch.max_wait_ms <= 0 or fetch.min_bytes <= 0)


def _attempt(request: Request, fetch: FetchRequest, broker: Broker) -> Callable[[bool], Reply | Wait]:
    """A function that reads what there is, and says Wait if that is too little and the deadline has not
    come."""
    wait_ms = min(fetch.max_wait_ms, MAX_WAIT_MS)
    deadline = broker.clock.monotonic() + wait_ms / 1000

    def attempt(expired: bool) -> Reply | Wait:
        reading = _Reading(request, fetch, broker)
        answers = [reading.topic(topic) for topic in fetch.topics]
        if expired or reading.failed or not reading.watched or reading.size >= fetch.min_bytes:
            return _encode(request.version, answers)
        return Wait(reading.watched, deadline, attempt)

    return attempt


class _Reading:
    """One pass over the partitions of a request, within its budget of bytes."""

    def __init__(self, request: Request, fetch: FetchRequest, broker: Broker) -> None:
        self._request = request
        self._broker = broker
        self._budget = fetch.max_bytes
        self.size = 0
        self.failed = False
        self.watched: list[Partition] = []

    def topic(self, topic: FetchTopic) -> TopicAnswer:
        name, error = topic.name, ErrorCode.NONE
        if self._request.version >= TOPIC_IDS_FROM:
            name = self._broker.controller.image.names.get(topic.topic_id, "")
            error = ErrorCode.NONE if name else ErrorCode.UNKNOWN_TOPIC_ID
        if name and not self._request.may(self._broker, Operation.READ, ResourceType.TOPIC, name):
            error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if error is not ErrorCode.NONE:
            self.failed = True
            answers = [PartitionAnswer(wanted.partition, error) for wanted in topic.partitions]
        else:
            answers = [self._partition(name, wanted) for wanted in topic.partitions]
        return TopicAnswer(topic.name, topic.topic_id, answers)

    def _partition(self, topic: str, wanted: FetchPartition) -> PartitionAnswer:
        limit = max(0, min(wanted.max_bytes, self._budget - self.size))
        try:
            partition = self._broker.partitions.get(topic, wanted.partition)
            # The first batch of the answer comes whole even if it is larger than every limit, or a consumer
            # would stand still.
            fetched = partition.fetch(
                wanted.fetch_offset, limit, at_least_one=self.size == 0, epoch=wanted.current_leader_epoch
            )
        except KafkaError as error:
            self.failed = True
            return PartitionAnswer(wanted.partition, error.code)
        except (OSError, StorageError) as error:
            _log.error("reading %s-%d failed: %s", topic, wanted.partition, error)
            self.failed = True
            return PartitionAnswer(wanted.partition, ErrorCode.KAFKA_STORAGE_ERROR)
        self.watched.append(partition)
        self.size += fetched.records.size if fetched.records is not None else 0
        return PartitionAnswer(
            wanted.partition,
            ErrorCode.NONE,
            fetched.high_watermark,
            fetched.last_stable_offset,
            fetched.log_start_offset,
            fetched.records,
        )


def _encode(version: int, answers: list[TopicAnswer], error: ErrorCode = ErrorCode.NONE) -> Reply:
    parts: list[Part] = encode_response(version, answers, error=error)  # type: ignore[assignment]
    return Reply(parts)
