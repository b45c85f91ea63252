"""WriteTxnMarkers, v1-v2: writes the markers that end transactions. Coordinators send it, and tools that
abort a hanging transaction (KIP-664).

A marker in a partition of `__consumer_offsets` goes through the group's shard, which replays it in the
same step.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.handlers.parts import GroupDataParts
from penstock.handlers.promised import reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.replication.markers import TransactionMarker
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType
from penstock.storage.errors import StorageError

VERSIONS: Final = (1, 2)
ACCESS: Final = (
    Access(Operation.ALTER, ResourceType.CLUSTER),
    Access(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, when="the cluster may not be altered"),
)
CLASSIC: Final = 0  # the version of a marker that names none

_log = logging.getLogger(__name__)

Outcomes = dict[tuple[str, int], Promise[ErrorCode]]  # by topic and partition


def handle(request: Request, broker: GroupDataParts) -> Reply | Wait:
    wanted = read_request(Api.WRITE_TXN_MARKERS, request.version, request.reader)
    allowed = request.may_see(broker, Operation.ALTER, ResourceType.CLUSTER) or request.may(
        broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER
    )
    written = [(each, _write(broker, each) if allowed else None) for each in wanted.markers]

    def encode() -> bytes:
        markers = [
            {"producer_id": each.producer_id, "topics": _topics(each, outcomes)} for each, outcomes in written
        ]
        return encode_response(Api.WRITE_TXN_MARKERS, request.version, {"markers": markers})

    promises = [promise for _, outcomes in written for promise in (outcomes or {}).values()]
    return reply_when_done(broker, promises, encode)


def _write(broker: GroupDataParts, wanted: Any) -> Outcomes:
    marker = TransactionMarker(
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.coordinator_epoch,
        wanted.transaction_result,
        getattr(wanted, "transaction_version", CLASSIC),
    )
    places = [(topic.name, index) for topic in wanted.topics for index in topic.partition_indexes]
    return {place: _write_one(broker, *place, marker) for place in places}


def _topics(wanted: Any, outcomes: Outcomes | None) -> list[dict[str, Any]]:
    def code(topic: str, index: int) -> ErrorCode:
        if outcomes is None:
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        promise = outcomes[topic, index]
        return promise.result() if promise.done else ErrorCode.REQUEST_TIMED_OUT

    return [
        {
            "name": topic.name,
            "partitions": [
                {"partition_index": index, "error_code": code(topic.name, index)}
                for index in topic.partition_indexes
            ],
        }
        for topic in wanted.topics
    ]


def _write_one(
    broker: GroupDataParts, topic: str, index: int, marker: TransactionMarker
) -> Promise[ErrorCode]:
    """The promise is done when the marker is committed, or has failed."""
    promise: Promise[ErrorCode] = Promise()
    try:
        partition = broker.partitions.get(topic, index)
        epoch = partition.leader_epoch
        if topic == OFFSETS_TOPIC:
            end_offset = broker.groups.runtime.append_marker(index, marker)
        else:
            end_offset = partition.append_marker(marker).last_offset + 1
    except KafkaError as error:
        promise.complete(_AS_PARTITION_ERROR.get(error.code, error.code))
    except (OSError, StorageError) as error:
        _log.error("the marker for %s-%d could not be written: %s", topic, index, error)
        promise.complete(ErrorCode.KAFKA_STORAGE_ERROR)
    else:
        partition.when_acknowledged(end_offset, epoch, promise.complete)
    return promise


_AS_PARTITION_ERROR: Final = dict.fromkeys(
    (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""Coordinators of transactions expect errors of a partition, not of another coordinator; they try again."""
