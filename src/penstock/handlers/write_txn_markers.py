"""WriteTxnMarkers, v1-v2: ends of transactions, sent by their coordinators and by whoever aborts one that
hangs (KIP-664).

A marker in a partition of `__consumer_offsets` goes through the group's shard, which learns of it in the same
step.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.replication.markers import TransactionMarker
from penstock.storage.errors import StorageError

VERSIONS: Final = (1, 2)
CLASSIC: Final = 0  # the transaction version of a marker that tells none

_log = logging.getLogger(__name__)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.WRITE_TXN_MARKERS, request.version, request.reader)
    allowed = request.may(broker, Operation.ALTER, ResourceType.CLUSTER) or request.may(
        broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER
    )
    markers = [
        {"producer_id": each.producer_id, "topics": _write(broker, each) if allowed else _refuse(each)}
        for each in wanted.markers
    ]
    return Reply([encode_response(Api.WRITE_TXN_MARKERS, request.version, {"markers": markers})])


def _write(broker: Broker, wanted: Any) -> list[dict[str, Any]]:
    marker = TransactionMarker(
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.coordinator_epoch,
        wanted.transaction_result,
        getattr(wanted, "transaction_version", CLASSIC),
    )
    return _results(wanted, lambda topic, index: _write_one(broker, topic, index, marker))


def _refuse(wanted: Any) -> list[dict[str, Any]]:
    return _results(wanted, lambda topic, index: ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _results(wanted: Any, outcome: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "partitions": [
                {"partition_index": index, "error_code": outcome(topic.name, index)}
                for index in topic.partition_indexes
            ],
        }
        for topic in wanted.topics
    ]


def _write_one(broker: Broker, topic: str, index: int, marker: TransactionMarker) -> ErrorCode:
    try:
        partition = broker.partitions.get(topic, index)
        if topic == OFFSETS_TOPIC:
            broker.groups.runtime.append_marker(index, marker)
        else:
            partition.append_marker(marker)
    except KafkaError as error:
        return _AS_PARTITION_ERROR.get(error.code, error.code)
    except (OSError, StorageError) as error:
        _log.error("the marker for %s-%d could not be written: %s", topic, index, error)
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE


_AS_PARTITION_ERROR: Final = dict.fromkeys(
    (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    ),
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""Coordinators of transactions expect errors of a partition, not of another coordinator; they try again."""
