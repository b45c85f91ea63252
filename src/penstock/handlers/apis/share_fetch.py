"""ShareFetch, v1-v2: a member of a share group (KIP-932) says what became of the records that it has, and
gets others. A request for more than there is waits, without polling.

From v2 on a member may ask for no record more than it names (record-limit), and renew its locks. The records
go through memory, not by sendfile: which batches are sent depends on what other members have.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.handlers.leader_hints import current_leader, leaders_reached
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import commit_deadline, outcome
from penstock.handlers.reply import Reply, Wait, Watched
from penstock.handlers.request import Request
from penstock.handlers.sharing.acknowledging import acknowledge, led_partition, release, said
from penstock.handlers.sharing.answers import NO_LEADER, leader_of, node_rows
from penstock.handlers.sharing.reading import Share, Taken, take
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.leader_hints import CurrentLeader
from penstock.protocol.messages import encode_response, id_bytes, milliseconds, read_request
from penstock.replication.waiters import LookedAt, Waiters
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.share.served import ServedPartition
from penstock.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, Place, SessionKey
from penstock.share.state import SharePartitionKey
from penstock.storage.errors import StorageError

VERSIONS: Final = (1, 2)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)
MAX_WAIT_MS: Final = 300_000
RECORD_LIMIT: Final = 1

_log = logging.getLogger(__name__)


def handle(request: Request, broker: ShareDataParts) -> Reply | Wait:
    wanted = read_request(Api.SHARE_FETCH, request.version, request.reader)
    session = SessionKey(wanted.group_id or "", wanted.member_id or "")
    try:
        if not request.may(broker, Operation.READ, ResourceType.GROUP, session.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        places = _places(broker, session, wanted)
    except KafkaError as error:
        return _encode(request, broker.share.served.lock_ms(session.group_id), error=error)
    return _ShareFetch(request, broker, session, wanted, places).begin()


def _places(broker: ShareDataParts, session: SessionKey, wanted: Any) -> list[Place]:
    if wanted.share_session_epoch == INITIAL_EPOCH and said(wanted.topics):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A new session has nothing to acknowledge.")
    added = [(id_bytes(t.topic_id), p.partition_index) for t in wanted.topics for p in t.partitions]
    forgotten = [
        (id_bytes(t.topic_id), index) for t in wanted.forgotten_topics_data for index in t.partitions
    ]
    now = broker.clock.monotonic()
    return broker.share.sessions.fetch(session, wanted.share_session_epoch, added, forgotten, now)


class _ShareFetch:
    """One request: first what it acknowledges, then what it fetches."""

    __slots__ = (
        *("_acknowledged", "_broker", "_closing", "_deadline", "_failed", "_lock_ms", "_pending", "_places"),
        *("_request", "_seen", "_session", "_taken", "_wanted", "_watched"),
    )

    def __init__(
        self, request: Request, broker: ShareDataParts, session: SessionKey, wanted: Any, places: list[Place]
    ) -> None:
        self._request = request
        self._broker = broker
        self._session = session
        self._wanted = wanted
        self._closing = wanted.share_session_epoch == FINAL_EPOCH
        self._places = [] if self._closing else places
        self._lock_ms = broker.share.served.lock_ms(session.group_id)
        self._deadline = 0.0
        self._acknowledged: dict[Place, Promise[None]] = {
            each.place: acknowledge(request, broker, session, each, self._lock_ms)
            for each in said(wanted.topics)
        }
        self._pending: list[Promise[Any]] = list(self._acknowledged.values())
        if self._closing:
            self._pending += release(broker, session, places)

    def begin(self) -> Reply | Wait:
        self._deadline = commit_deadline(self._broker)
        return self._when_acknowledged(False)

    def _when_acknowledged(self, expired: bool) -> Reply | Wait:
        self._pending = [promise for promise in self._pending if not promise.done]
        if self._pending and not expired:
            return Wait(tuple(self._pending), self._deadline, self._when_acknowledged)
        wait_ms = min(milliseconds(self._wanted.max_wait), MAX_WAIT_MS)
        self._deadline = self._broker.clock.monotonic() + wait_ms / 1000
        # What was acknowledged is answered at once; the member comes again for more.
        return self._attempt(bool(self._acknowledged) or self._closing or wait_ms <= 0)

    def _attempt(self, expired: bool) -> Reply | Wait:
        self._taken: dict[Place, Taken] = {}
        self._failed: dict[Place, KafkaError] = {}
        self._watched: list[Waiters] = []
        self._seen: list[int] = []
        loading: list[Watched] = []
        records, size = self._wanted.max_records, self._wanted.max_bytes
        for place in self._places:
            if records <= 0 or size <= 0:
                break
            promise = self._take(place, records, size)
            if promise is not None:
                loading.append(promise)
            taken = self._taken.get(place)
            if taken is not None:
                size -= len(taken.records)
                records -= sum(each.last_offset - each.first_offset + 1 for each in taken.acquired)
        if expired or self._taken or self._failed or not (loading or self._watched):
            return self._finish()
        return Wait((*loading, LookedAt(self._watched, self._seen)), self._deadline, self._attempt)

    def _take(self, place: Place, records: int, size: int) -> Promise[ServedPartition] | None:
        """Take what there is in one partition. A promise is returned while its state is being read."""
        broker, request = self._broker, self._request
        try:
            partition = led_partition(request, broker, place)
            promise = broker.share.served.get(SharePartitionKey(self._session.group_id, *place), partition)
            if not promise.done:
                return promise
            served, now = promise.result(), broker.clock.monotonic()
            self._watch(partition.committed)
            self._watch(served.released)
            share = Share(
                self._session.member_id,
                size,
                records,
                getattr(self._wanted, "share_acquire_mode", 0) == RECORD_LIMIT,
                now + self._lock_ms / 1000,
                broker.share.served.reads_committed(self._session.group_id),
            )
            taken = take(served, partition, share, now)
        except KafkaError as error:
            self._failed[place] = error
            return None
        except (OSError, StorageError) as error:
            _log.error("reading %s for share group %s failed: %s", place, self._session.group_id, error)
            self._failed[place] = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
            return None
        if taken is not None:
            self._taken[place] = taken
            broker.metrics.traffic.of(partition.topic).fetched(len(taken.records), by_follower=False)
        return None

    def _watch(self, waiters: Waiters) -> None:
        self._watched.append(waiters)
        self._seen.append(waiters.changes)

    def _finish(self) -> Reply:
        request, broker = self._request, self._broker
        size = sum(len(taken.records) for taken in self._taken.values())
        throttle_ms = broker.quotas.fetched(request.principal.name, request.client_id, size)
        rows: dict[bytes, list[dict[str, Any]]] = {}
        leaders: list[CurrentLeader | None] = []
        for place in dict.fromkeys((*self._acknowledged, *self._taken, *self._failed)):
            row, leader = self._row(place)
            rows.setdefault(place[0], []).append(row)
            leaders.append(leader)
        nodes = leaders_reached(broker, request.listener, leaders)
        return _encode(
            request,
            self._lock_ms,
            throttle_ms=throttle_ms,
            responses=[{"topic_id": topic_id, "partitions": found} for topic_id, found in rows.items()],
            node_endpoints=node_rows(nodes),
        )

    def _row(self, place: Place) -> tuple[dict[str, Any], CurrentLeader | None]:
        taken, failed, leader = self._taken.get(place), self._failed.get(place), None
        if failed is not None and failed.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            name = self._broker.controller.image.names.get(place[0], "")
            leader = current_leader(self._broker, name, place[1])
        row: dict[str, Any] = {
            "partition_index": place[1],
            "error_code": ErrorCode.NONE if failed is None else failed.code,
            "error_message": None if failed is None else failed.message or None,
            "acknowledge_error_code": ErrorCode.NONE,
            "current_leader": NO_LEADER if leader is None else leader_of(leader),
            "records": b"" if taken is None else taken.records,
            "acquired_records": () if taken is None else [each._asdict() for each in taken.acquired],
        }
        promise = self._acknowledged.get(place)
        if promise is not None:
            try:
                outcome(promise)
            except KafkaError as error:
                row |= {
                    "acknowledge_error_code": error.code,
                    "acknowledge_error_message": error.message or None,
                }
        return row, leader


def _encode(
    request: Request, lock_ms: int, *, error: KafkaError | None = None, throttle_ms: int = 0, **fields: Any
) -> Reply:
    body = {
        "throttle_time": throttle_ms,
        "error_code": ErrorCode.NONE if error is None else error.code,
        "error_message": None if error is None else error.message or None,
        "acquisition_lock_timeout": lock_ms,
        "responses": (),
        "node_endpoints": (),
        **fields,
    }
    return Reply([encode_response(Api.SHARE_FETCH, request.version, body)], throttle_ms)
