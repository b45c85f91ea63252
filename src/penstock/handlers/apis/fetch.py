"""Fetch, v4-v18: records, sent from the file.

A request for more than there is waits for the next append, without polling. A fetch session remembers what a
client fetches (`penstock.handlers.fetching.sessions`).

The followers of a partition fetch through the same API. The offset that a follower asks for says what it has
(`Partition.fetch_for_replica`). Consumers of v11 and later may read from followers, and are sent to one in
their rack. From v18 on a replica names the high watermark that it knows (KIP-1166). As in Kafka, only the
leader of the metadata quorum uses it; here it is skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from penstock.handlers.fetching.nearest_replica import nearest_replica
from penstock.handlers.fetching.sessions import NO_SESSION, Fetching
from penstock.handlers.leader_hints import current_leader, leaders_reached
from penstock.handlers.parts import DataParts
from penstock.handlers.reply import Part, Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.fetch import (
    READ_COMMITTED,
    TOPIC_IDS_FROM,
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionAnswer,
    TopicAnswer,
    encode_response,
    read_request,
)
from penstock.protocol.metadata import Node
from penstock.protocol.primitives import ZERO_UUID
from penstock.replication.following import Position
from penstock.replication.partition import Partition
from penstock.replication.replica import Fetched
from penstock.replication.waiters import LookedAt, Waiters
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.storage.aborted import Aborted
from penstock.storage.errors import StorageError

VERSIONS: Final = (4, 18)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
    Access(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, when="a replica fetches"),
)
ANY_REPLICA_FROM: Final = 11
LAST_WITHOUT_STORAGE_ERROR: Final = 5
MAX_WAIT_MS: Final = 300_000  # after five minutes an empty answer is as good, and frees the thread

_log = logging.getLogger(__name__)


def handle(request: Request, broker: DataParts) -> Reply | Wait:
    fetch = read_request(request.reader, request.version)
    try:
        fetching = broker.fetch_sessions.begin(
            fetch, by_id=request.version >= TOPIC_IDS_FROM, now_ms=broker.clock.now_ms()
        )
    except KafkaError as error:
        return _encode(request.version, [], error=error.code)
    return _Fetch(request, fetch, fetching, broker).attempt(fetch.max_wait_ms <= 0 or fetch.min_bytes <= 0)


class _Fetch:
    """One request. It reads what there is, within its budget of bytes. When that is too little, it waits for
    more until its deadline.

    It is an object, because a function that refers to itself would leave a cycle for the garbage collector.
    """

    __slots__ = (
        *("_broker", "_budget", "_deadline", "_failed", "_fetch", "_fetching", "_is_follower", "_is_refused"),
        *("_now", "_request", "_seen", "_size", "_taken", "_watched"),
    )

    def __init__(self, request: Request, fetch: FetchRequest, fetching: Fetching, broker: DataParts) -> None:
        self._request = request
        self._fetch = fetch
        self._fetching = fetching
        self._broker = broker
        self._deadline: float | None = None  # set when the first attempt was not enough
        self._budget = min(fetch.max_bytes, broker.settings.fetch_max_bytes)
        self._is_follower = fetch.replica_id >= 0
        if self._is_follower:
            self._is_refused = not request.may(broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
            return
        self._is_refused = False
        quota = broker.quotas.largest_fetch(request.principal.name, request.client_id)
        if quota is not None:
            self._budget = min(self._budget, quota)

    def attempt(self, expired: bool) -> Reply | Wait:
        self._size = 0
        self._failed = False
        self._watched: list[Waiters] = []
        self._seen: list[int] = []
        self._taken: list[tuple[str, int]] = []  # topics with their bytes, to be counted with the answer
        if self._is_follower:
            self._now = self._broker.clock.monotonic()
        answers = [self._topic(topic) for topic in self._fetching.pending(self._is_quiet)]
        enough = min(self._fetch.min_bytes, self._budget)
        if expired or self._failed or self._size >= enough or not self._watched:
            return self._finish(answers)
        if self._deadline is None:
            wait_seconds = min(self._fetch.max_wait_ms, MAX_WAIT_MS) / 1000
            self._deadline = self._broker.clock.monotonic() + wait_seconds
        looked_at = LookedAt(self._watched, self._seen)
        return Wait((looked_at,), self._deadline, self.attempt, not self._is_follower)

    def _watch(self, watched: Waiters, changes: int) -> None:
        """Waits for `watched`. It had made `changes` changes before the request looked at the partition."""
        self._watched.append(watched)
        self._seen.append(changes)

    def _finish(self, answers: list[TopicAnswer]) -> Reply:
        """The answer. It has no partitions when their bytes would exceed the client's quota."""
        request, broker = self._request, self._broker
        size = 0 if self._is_follower else self._size  # the quotas of clients do not apply to followers
        throttle_ms = broker.quotas.fetched(request.principal.name, request.client_id, size)
        try:
            if throttle_ms:
                session_id = self._fetching.throttled()
                return _encode(request.version, [], session_id=session_id, throttle_ms=throttle_ms)
            session_id, told = self._fetching.finish(answers, broker.clock.now_ms())
        except KafkaError as error:
            return _encode(request.version, [], error=error.code, throttle_ms=throttle_ms)
        for topic, taken in self._taken:
            broker.metrics.traffic.of(topic).fetched(taken, by_follower=self._is_follower)
        nodes: Sequence[Node] = ()
        if self._failed:
            leaders = [answer.current_leader for topic in told for answer in topic.partitions]
            nodes = leaders_reached(broker, request.listener, leaders) if any(leaders) else ()
        return _encode(request.version, told, session_id=session_id, nodes=nodes)

    def _is_quiet(
        self, topic: str | bytes, wanted: FetchPartition, high_watermark: int, log_start_offset: int
    ) -> bool:
        """Whether a follower has everything of a partition and knows its high watermark. Most partitions of
        a large broker are quiet at any time, and each follower asks for all of them twice a second."""
        names = self._broker.controller.image.names
        name = names.get(topic, "") if isinstance(topic, bytes) else topic
        partition = self._broker.partitions.find(name, wanted.partition)
        if partition is None:
            return False
        changes = partition.written.changes
        if not partition.is_quiet_for(
            self._fetch.replica_id,
            self._fetch.replica_epoch,
            (wanted.current_leader_epoch, wanted.fetch_offset, wanted.log_start_offset),
            (high_watermark, log_start_offset),
            self._now,
        ):
            return False
        self._watch(partition.written, changes)
        return True

    def _topic(self, topic: FetchTopic) -> TopicAnswer:
        name, error = topic.name, ErrorCode.NONE
        if self._request.version >= TOPIC_IDS_FROM:
            name = self._broker.controller.image.names.get(topic.topic_id, "")
            error = ErrorCode.NONE if name else ErrorCode.UNKNOWN_TOPIC_ID
        if name and not self._may_read(name):
            error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if error is not ErrorCode.NONE:
            self._failed = True
            answers = [PartitionAnswer(wanted.partition, error) for wanted in topic.partitions]
        else:
            answers = [self._read(name, topic.topic_id, wanted) for wanted in topic.partitions]
        return TopicAnswer(topic.name, topic.topic_id, answers)

    def _may_read(self, name: str) -> bool:
        return not self._is_refused and self._request.may(
            self._broker, Operation.READ, ResourceType.TOPIC, name
        )

    def _read(self, topic: str, topic_id: bytes, wanted: FetchPartition) -> PartitionAnswer:
        limit = max(0, min(wanted.max_bytes, self._budget - self._size))
        try:
            partition = self._broker.partitions.get(topic, wanted.partition)
            if topic_id not in (ZERO_UUID, partition.topic_id):
                raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, "The topic was deleted and made again.")
            preferred = self._preferred(partition, wanted) if self._fetch.rack_id else None
            if preferred is not None:
                return preferred
            watched = partition.written if self._is_follower else partition.committed
            changes = watched.changes
            fetched = self._fetched(partition, wanted, limit)
        except KafkaError as error:
            self._failed = True
            self._broker.metrics.traffic.known(topic).fetch_failed()
            leader = None
            if error.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
                leader = current_leader(self._broker, topic, wanted.partition)
            return PartitionAnswer(wanted.partition, self._told(error.code), current_leader=leader)
        except (OSError, StorageError) as error:
            _log.error("reading %s-%d failed: %s", topic, wanted.partition, error)
            self._failed = True
            return PartitionAnswer(wanted.partition, self._told(ErrorCode.KAFKA_STORAGE_ERROR))
        self._watch(watched, changes)
        if fetched.diverging is not None:
            self._failed = True
        if fetched.records is not None:
            self._size += fetched.records.size
            self._taken.append((topic, fetched.records.size))
        return PartitionAnswer(
            wanted.partition,
            ErrorCode.NONE,
            fetched.high_watermark,
            fetched.last_stable_offset,
            fetched.log_start_offset,
            fetched.records,
            None if fetched.aborted is None else tuple(map(_told_aborted, fetched.aborted)),
            diverging=fetched.diverging,
        )

    def _fetched(self, partition: Partition, wanted: FetchPartition, limit: int) -> Fetched:
        fetch = self._fetch
        # The first batch of the answer is sent whole, even if it is larger than every limit. Otherwise the
        # reader could never go on.
        at_least_one = self._size == 0
        if self._is_follower:
            position = Position(
                wanted.current_leader_epoch,
                wanted.fetch_offset,
                wanted.last_fetched_epoch,
                wanted.log_start_offset,
            )
            return partition.fetch_for_replica(
                fetch.replica_id, fetch.replica_epoch, position, limit, at_least_one=at_least_one
            )
        return partition.fetch(
            wanted.fetch_offset,
            limit,
            at_least_one=at_least_one,
            epoch=wanted.current_leader_epoch,
            committed=fetch.isolation == READ_COMMITTED,
            last_epoch=wanted.last_fetched_epoch,
            any_replica=self._request.version >= ANY_REPLICA_FROM,
        )

    def _preferred(self, partition: Partition, wanted: FetchPartition) -> PartitionAnswer | None:
        """The answer that sends a consumer to a follower in its own rack."""
        node = nearest_replica(self._broker, partition, self._fetch.rack_id, wanted.fetch_offset)
        if node is None:
            return None
        self._failed = True  # the answer goes out at once
        return PartitionAnswer(
            wanted.partition,
            ErrorCode.NONE,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.log_start_offset,
            preferred_replica=node,
        )

    def _told(self, code: ErrorCode) -> ErrorCode:
        """Clients of v5 or older would not repeat a request after a storage error: they get another code."""
        if code is ErrorCode.KAFKA_STORAGE_ERROR and self._request.version <= LAST_WITHOUT_STORAGE_ERROR:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return code


def _told_aborted(aborted: Aborted) -> AbortedTransaction:
    return AbortedTransaction(aborted.producer_id, aborted.first_offset)


def _encode(
    version: int,
    answers: list[TopicAnswer],
    *,
    error: ErrorCode = ErrorCode.NONE,
    session_id: int = NO_SESSION,
    throttle_ms: int = 0,
    nodes: Sequence[Node] = (),
) -> Reply:
    parts: list[Part] = encode_response(  # type: ignore[assignment]
        version, answers, error=error, session_id=session_id, throttle_ms=throttle_ms, nodes=nodes
    )
    return Reply(parts, throttle_ms)
