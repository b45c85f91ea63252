"""DescribeLogDirs, v1-v4: the log directories, with the logs in them and their sizes. A directory that has
failed is listed with KAFKA_STORAGE_ERROR."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.controller import METADATA_TOPIC
from penstock.handlers.parts import DataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType
from penstock.storage.directory import LogDirectory
from penstock.storage.log import Log

VERSIONS: Final = (1, 4)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.CLUSTER),)

Named = dict[TopicPartition, Log]


def handle(request: Request, broker: DataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_LOG_DIRS, request.version, request.reader)
    error, results = ErrorCode.NONE, []
    if request.may(broker, Operation.DESCRIBE, ResourceType.CLUSTER):
        logs = _selected(broker, wanted.topics)
        results = [_directory(broker, directory, logs) for directory in broker.logs.directories]
    else:
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    fields = {"throttle_time": 0, "error_code": error, "results": results}
    return Reply([encode_response(Api.DESCRIBE_LOG_DIRS, request.version, fields)])


def _selected(broker: DataParts, topics: Any) -> Named:
    """The logs asked for; all of them when none is named. The metadata log is never among them."""
    logs = {name: log for name, log in broker.logs.all().items() if name[0] != METADATA_TOPIC}
    if topics is None:
        return logs
    asked = {TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions}
    return {name: log for name, log in logs.items() if name in asked}


def _directory(broker: DataParts, directory: LogDirectory, logs: Named) -> dict[str, Any]:
    if directory.failure is not None:
        return {"error_code": ErrorCode.KAFKA_STORAGE_ERROR, "log_dir": directory.path, "topics": ()}
    topics: dict[str, list[dict[str, Any]]] = {}
    for (name, index), log in logs.items():
        if log.directory is directory:
            topics.setdefault(name, []).append(_log(index, log))
    total_bytes, usable_bytes = broker.logs.space(directory)
    return {
        "error_code": ErrorCode.NONE,
        "log_dir": directory.path,
        "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
        "total_bytes": total_bytes,
        "usable_bytes": usable_bytes,
    }


def _log(index: int, log: Log) -> dict[str, Any]:
    with log.to_read:
        return {
            "partition_index": index,
            "partition_size": log.size_bytes,
            "offset_lag": max(0, log.high_watermark - log.log_end_offset),
            "is_future_key": False,
        }
