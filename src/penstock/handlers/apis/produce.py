"""Produce, v3-v13. Batches go to the log as they came; only their base offset and leader epoch are filled in.

v0-v2 are announced, because old librdkafka derives from them that compression works, and refused when used.
Batches of transactions wait until their coordinator has been asked (`handlers.producing.admission`), acks=all
until all replicas in sync have the batches (`handlers.producing.acks`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Final

from penstock.controller.topics import INTERNAL_TOPICS
from penstock.handlers.leader_hints import current_leader, leaders_reached
from penstock.handlers.parts import DataParts
from penstock.handlers.producing.acks import ALL, Unacknowledged, Written
from penstock.handlers.producing.admission import NOTHING_ASKED, Admission, Batch, admit, is_transactional
from penstock.handlers.promised import commit_deadline
from penstock.handlers.reply import HangUp, NoReply, Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage
from penstock.protocol.produce import (
    TOPIC_IDS_FROM,
    PartitionData,
    PartitionResult,
    ProduceRequest,
    TopicData,
    TopicResult,
    encode_plain_response,
    encode_response,
    read_request,
)
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import CorruptBatch
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.storage.contents import InvalidRecords
from penstock.storage.errors import StorageError

VERSIONS: Final = (0, 13)
ACCESS: Final = (
    Access(Operation.WRITE, ResourceType.TOPIC, Refusal.EACH),
    Access(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, when="the records are transactional"),
)
OLDEST_SERVED: Final = 3

_NONE: Final = ErrorCode.NONE  # to look up a member of an enumeration costs more than the rest of a check
_log = logging.getLogger(__name__)


def handle(request: Request, broker: DataParts) -> Outcome:
    if request.version < OLDEST_SERVED:
        raise MalformedMessage(
            f"Produce v{request.version} carries message formats that are not stored any more"
        )
    produce = read_request(request.reader, request.version)
    if produce.acks not in (-1, 0, 1):
        refusal = KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks must be 0, 1 or -1, not {produce.acks}.")
        results = [_refused(topic, refusal) for topic in produce.topics]
        return _answer(request, broker, produce, results)
    if not is_transactional(produce):
        return _append_all(request, broker, produce, NOTHING_ASKED)
    admission = admit(request, broker, produce.transactional_id, _batches(request, broker, produce))
    if not admission.is_pending and not (admission.comes_too_soon and produce.acks != 0):
        return _append_all(request, broker, produce, admission)
    if produce.acks == 0:
        raise HangUp("acks=0 cannot wait for the coordinator of the transaction")
    return _Pending(request, broker, produce, admission).resume(expired=False)


class _Pending:
    """A request that waits until its batches are admitted.

    An object and not a function within `handle`: a function that names itself leaves a cycle behind for the
    collector.
    """

    def __init__(
        self, request: Request, broker: DataParts, produce: ProduceRequest, admission: Admission
    ) -> None:
        self._work = (request, broker, produce, admission)
        self._admission = admission
        self._now = broker.clock.monotonic
        began, settings = self._now(), broker.settings
        self._deadline = commit_deadline(broker)
        self._backoff_seconds = settings.add_partitions_to_txn_retry_backoff_ms / 1000
        self._asks_until = began + settings.add_partitions_to_txn_retry_backoff_max_ms / 1000

    def resume(self, expired: bool) -> Reply | Wait:
        admission = self._admission
        if admission.is_pending and not expired:
            assert admission.promise is not None
            return Wait([admission.promise], self._deadline, self.resume)
        if admission.comes_too_soon and self._now() < self._asks_until:
            return Wait((), self._now() + self._backoff_seconds, self._ask_again)
        outcome = _append_all(*self._work)
        assert not isinstance(outcome, NoReply), "acks=0 does not wait"
        return outcome

    def _ask_again(self, expired: bool) -> Reply | Wait:
        self._admission.ask_again()
        return self.resume(False)


def _append_all(
    request: Request, broker: DataParts, produce: ProduceRequest, admission: Admission
) -> Outcome:
    to_all = produce.acks == ALL
    unacknowledged: list[Written] = []
    results = []
    for topic in produce.topics:
        name = _writable(request, broker, topic)
        if isinstance(name, KafkaError):
            results.append(_refused(topic, name))
            continue
        partitions = []
        for data in topic.partitions:
            result = _append(broker, name, data, admission, to_all, unacknowledged)
            if result.error is not _NONE:
                broker.metrics.traffic.known(name).produce_failed(len(data.records or b""))
            partitions.append(result)
        results.append(TopicResult(topic.name, topic.topic_id, partitions))
    if not unacknowledged:
        return _answer(request, broker, produce, results)
    deadline = broker.clock.monotonic() + max(0, produce.timeout_ms) / 1000
    answer = partial(_answer_all, request, broker, produce)
    return Unacknowledged(unacknowledged, deadline, results, answer).resume(expired=False)


def _answer(
    request: Request, broker: DataParts, produce: ProduceRequest, results: list[TopicResult]
) -> Outcome:
    throttle_ms = broker.quotas.produced(
        request.principal.name, request.client_id, len(request.reader.buffer)
    )
    if produce.acks == 0:
        _hang_up_on_failure(results)
        return NoReply(throttle_ms)
    body = encode_plain_response(request.version, results, throttle_ms)
    if body is None:
        leaders = [result.current_leader for topic in results for result in topic.partitions]
        nodes = leaders_reached(broker, request.listener, leaders) if any(leaders) else ()
        body = encode_response(request.version, results, throttle_ms, nodes)
    return Reply((body,), throttle_ms)


def _answer_all(
    request: Request, broker: DataParts, produce: ProduceRequest, results: list[TopicResult]
) -> Reply:
    answer = _answer(request, broker, produce, results)
    assert isinstance(answer, Reply), "a request that waits for all replicas has an answer"
    return answer


def _hang_up_on_failure(results: list[TopicResult]) -> None:
    """A producer that wants no answer learns of a wrong leader or a full disk by losing its connection."""
    for topic in results:
        for result in topic.partitions:
            if result.error is not ErrorCode.NONE:
                name = f"{topic.name or topic.topic_id.hex()}-{result.partition}"
                raise HangUp(f"acks=0 to {name} failed: {result.error.name} {result.message or ''}")


def _writable(request: Request, broker: DataParts, topic: TopicData) -> str | KafkaError:
    """The name of a topic of the request, or why nothing may be written to it."""
    name = topic.name
    if request.version >= TOPIC_IDS_FROM:
        name = broker.controller.image.names.get(topic.topic_id, "")
        if not name:
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id.")
    if not request.may(broker, Operation.WRITE, ResourceType.TOPIC, name):
        return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if name in INTERNAL_TOPICS:
        return KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}")
    return name


def _batches(request: Request, broker: DataParts, produce: ProduceRequest) -> Iterator[Batch]:
    """What is to be appended, as far as it can be."""
    for topic in produce.topics:
        name = _writable(request, broker, topic)
        if isinstance(name, KafkaError):
            continue
        for data in topic.partitions:
            partition = broker.partitions.find(name, data.partition)
            if partition is not None and data.records:
                yield Batch(TopicPartition(name, data.partition), partition, data.records)


def _append(
    broker: DataParts,
    topic: str,
    data: PartitionData,
    admission: Admission,
    to_all: bool,
    unacknowledged: list[Written],
) -> PartitionResult:
    try:
        partition = broker.partitions.get(topic, data.partition)
        if not data.records:
            raise KafkaError(ErrorCode.INVALID_RECORD, "The request holds no record batch for the partition.")
        guard = None if admission is NOTHING_ASKED else admission.guard(TopicPartition(topic, data.partition))
        epoch = partition.leader_epoch  # of the append, or an earlier one: then nothing is acknowledged
        appended = partition.append(data.records, guard=guard, to_all=to_all)
        if to_all and partition.log.high_watermark <= appended.last_offset:
            unacknowledged.append(Written(partition, appended.last_offset + 1, epoch))
        traffic = broker.metrics.traffic.of(topic)
        traffic.produce_requests += 1
        traffic.bytes_in += len(data.records)
        traffic.messages_in += appended.last_offset - appended.base_offset + 1
    except InvalidRecords as error:
        return PartitionResult(
            data.partition,
            error.code,
            log_start_offset=partition.log.log_start_offset,
            message=error.message,
            record_errors=error.record_errors,
        )
    except KafkaError as error:
        elsewhere = error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        leader = current_leader(broker, topic, data.partition) if elsewhere else None
        return PartitionResult(data.partition, error.code, message=error.message, current_leader=leader)
    except CorruptBatch as error:
        return PartitionResult(data.partition, ErrorCode.CORRUPT_MESSAGE, message=str(error))
    except (OSError, StorageError) as error:
        _log.error("append to %s-%d failed: %s", topic, data.partition, error)
        return PartitionResult(
            data.partition, ErrorCode.KAFKA_STORAGE_ERROR, message=f"The disk refused the write: {error}"
        )
    return PartitionResult(
        data.partition,
        ErrorCode.NONE,
        appended.base_offset,
        appended.log_append_time_ms,
        appended.log_start_offset,
    )


def _refused(topic: TopicData, error: KafkaError) -> TopicResult:
    results = [
        PartitionResult(data.partition, error.code, message=error.message) for data in topic.partitions
    ]
    return TopicResult(topic.name, topic.topic_id, results)
