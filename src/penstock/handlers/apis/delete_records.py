"""DeleteRecords, v0-v2: moves the beginning of a log up.

What was deleted stays deleted after a crash. The new beginning is durable before the answer goes out, and the
replicas that are alive have followed it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Final

from penstock.controller.topics import INTERNAL_TOPICS
from penstock.handlers.parts import DataParts
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.replication.partition import Partition
from penstock.replication.waiters import LookedAt
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.storage.errors import StorageError

VERSIONS: Final = (0, 2)
ACCESS: Final = (Access(Operation.DELETE, ResourceType.TOPIC, Refusal.EACH),)
HIGH_WATERMARK: Final = -1
NO_LOW_WATERMARK: Final = -1

_log = logging.getLogger(__name__)

Result = tuple[int, ErrorCode]  # the low watermark, which is where the log begins now


def handle(request: Request, broker: DataParts) -> Reply | Wait:
    wanted = read_request(Api.DELETE_RECORDS, request.version, request.reader)
    results: dict[str, dict[int, Result]] = {}
    shortened: dict[tuple[str, int], Partition] = {}
    for topic in wanted.topics:
        allowed = request.may(broker, Operation.DELETE, ResourceType.TOPIC, topic.name)
        for part in topic.partitions:
            place = (topic.name, part.partition_index)
            result: Result = (NO_LOW_WATERMARK, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            if allowed:
                result = _delete(broker, *place, part.offset, shortened)
            results.setdefault(topic.name, {})[part.partition_index] = result
    for name, index in _not_kept(broker, shortened):
        results[name][index] = (NO_LOW_WATERMARK, ErrorCode.KAFKA_STORAGE_ERROR)
        shortened.pop((name, index))
    deadline = broker.clock.monotonic() + milliseconds(wanted.timeout) / 1000
    return _when_deleted(request.version, results, shortened, deadline, False)


def _when_deleted(
    version: int,
    results: dict[str, dict[int, Result]],
    shortened: dict[tuple[str, int], Partition],
    deadline: float,
    expired: bool,
) -> Reply | Wait:
    """Answers when the replicas of all partitions begin at the new offsets."""
    changes = {place: part.committed.changes for place, part in shortened.items()}  # before the look
    pending = {place: part for place, part in shortened.items() if _is_behind(part, results, place)}
    if pending and not expired:
        looked_at = LookedAt([part.committed for part in pending.values()], [changes[at] for at in pending])
        return Wait((looked_at,), deadline, partial(_when_deleted, version, results, pending, deadline))
    for topic, index in pending:
        results[topic][index] = (NO_LOW_WATERMARK, ErrorCode.REQUEST_TIMED_OUT)
    fields = {"throttle_time": 0, "topics": [_topic(name, found) for name, found in results.items()]}
    return Reply([encode_response(Api.DELETE_RECORDS, version, fields)])


def _is_behind(partition: Partition, results: dict[str, dict[int, Result]], place: tuple[str, int]) -> bool:
    """Whether any replica that is alive still begins at an earlier offset."""
    topic, index = place
    wanted, code = results[topic][index]
    if code is not ErrorCode.NONE:
        return False
    try:
        return partition.low_watermark() < wanted
    except KafkaError as error:
        results[topic][index] = (NO_LOW_WATERMARK, error.code)
        return False


def _delete(
    broker: DataParts, topic: str, index: int, offset: int, shortened: dict[tuple[str, int], Partition]
) -> Result:
    try:
        if topic in INTERNAL_TOPICS:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot delete records of internal topic {topic}"
            )
        partition = broker.partitions.get(topic, index)
        low_watermark = partition.delete_records(None if offset == HIGH_WATERMARK else offset)
    except KafkaError as error:
        return NO_LOW_WATERMARK, error.code
    except (OSError, StorageError) as error:
        _log.error("deleting records of %s-%d failed: %s", topic, index, error)
        return NO_LOW_WATERMARK, ErrorCode.KAFKA_STORAGE_ERROR
    shortened[topic, index] = partition
    return low_watermark, ErrorCode.NONE


def _not_kept(broker: DataParts, shortened: dict[tuple[str, int], Partition]) -> list[tuple[str, int]]:
    """Makes the new beginnings durable. Returns the partitions whose disk refused."""
    failed = broker.logs.keep_starts(partition.log for partition in shortened.values())
    return [place for place, partition in shortened.items() if partition.log.directory in failed]


def _topic(name: str, found: dict[int, Result]) -> dict[str, Any]:
    partitions = [
        {"partition_index": index, "low_watermark": low_watermark, "error_code": code}
        for index, (low_watermark, code) in found.items()
    ]
    return {"name": name, "partitions": partitions}
