"""Where replicas are: reassignments, elections of leaders, log directories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from penstock.client.api.admin.asking import Asking, by_topic, check, failure
from penstock.client.api.admin.results import Keyed, mapped
from penstock.client.api.broker_errors import from_code
from penstock.client.api.exceptions import KafkaException
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.deadline import Deadline
from penstock.wire.errors import error_code

ELECTIONS: Final = {"PREFERRED": 0, "UNCLEAN": 1}


class PartitionReassignment(NamedTuple):
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReplicaInfo(NamedTuple):
    size: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    error: KafkaException | None
    replica_infos: dict[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None


class TopicPartitionReplica(NamedTuple):
    topic: str
    partition: int
    broker_id: int


class ReplicaLogDirInfo(NamedTuple):
    current_replica_log_dir: str | None = None
    current_replica_offset_lag: int = -1
    future_replica_log_dir: str | None = None
    future_replica_offset_lag: int = -1


class AlterPartitionReassignmentsResult(Keyed[TopicPartition, None]): ...


class AlterReplicaLogDirsResult(Keyed[TopicPartitionReplica, None]): ...


class DescribeReplicaLogDirsResult(Keyed[TopicPartitionReplica, ReplicaLogDirInfo]): ...


class DescribeLogDirsResult(Keyed[int, dict[str, LogDirDescription]]):
    descriptions = Keyed.values
    all_descriptions = Keyed.all


class ElectLeadersResult:
    def __init__(self, found: Future[dict[TopicPartition, KafkaException | None]]) -> None:
        self._found = found

    def partitions(self) -> Future[dict[TopicPartition, KafkaException | None]]:
        """What became of each: None, or why there was no election."""
        return self._found

    def all(self) -> Future[None]:
        return mapped(self._found, _none_failed)


class Replicas(Asking):
    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        timeout: float | None = None,
    ) -> AlterPartitionReassignmentsResult:
        """The brokers that are to have each partition; None cancels what is under way."""
        wanted = {TopicPartition(*at): replicas for at, replicas in reassignments.items()}

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            fields = {
                "timeout": milliseconds(deadline),
                "allow_replication_factor_change": True,
                "topics": [
                    {
                        "name": name,
                        "partitions": [
                            {"partition_index": index, "replicas": wanted[TopicPartition(name, index)]}
                            for index in indexes
                        ],
                    }
                    for name, indexes in by_topic(wanted).items()
                ],
            }
            answer = self._ask(Api.ALTER_PARTITION_REASSIGNMENTS, fields, (0, 1), deadline)
            check(answer, "reassign partitions")
            return {
                TopicPartition(topic.name, each.partition_index): failure(each, "reassign a partition")
                for topic in answer.responses
                for each in topic.partitions
            }

        return self._each(AlterPartitionReassignmentsResult(wanted), "reassign partitions", work, timeout)

    def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> Future[dict[TopicPartition, PartitionReassignment]]:
        """Under way: of these partitions, or of all."""

        def work(deadline: Deadline) -> dict[TopicPartition, PartitionReassignment]:
            fields = {
                "timeout": milliseconds(deadline),
                "topics": None
                if partitions is None
                else [
                    {"name": name, "partition_indexes": indexes}
                    for name, indexes in by_topic(partitions).items()
                ],
            }
            answer = self._ask(Api.LIST_PARTITION_REASSIGNMENTS, fields, (0, 0), deadline)
            check(answer, "list reassignments")
            return {
                TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                    tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return self._one("list reassignments", work, timeout)

    def elect_leaders(
        self,
        election_type: str,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> ElectLeadersResult:
        """`PREFERRED` or `UNCLEAN`, for these partitions or for all."""

        def work(deadline: Deadline) -> dict[TopicPartition, KafkaException | None]:
            fields = {
                "election_type": ELECTIONS[election_type],
                "topic_partitions": None
                if partitions is None
                else [
                    {"topic": name, "partitions": indexes} for name, indexes in by_topic(partitions).items()
                ],
                "timeout": milliseconds(deadline),
            }
            answer = self._ask(Api.ELECT_LEADERS, fields, (1, 2), deadline)
            check(answer, "elect leaders")
            return {
                TopicPartition(topic.topic, each.partition_id): failure(each, "elect a leader")
                for topic in answer.replica_election_results
                for each in topic.partition_result
            }

        return ElectLeadersResult(self._one("elect leaders", work, timeout))

    def describe_log_dirs(
        self, brokers: Iterable[int], *, timeout: float | None = None
    ) -> DescribeLogDirsResult:
        wanted = list(brokers)

        def work(deadline: Deadline) -> Mapping[int, Any]:
            self._cluster.brokers(deadline)
            return {node_id: self._log_dirs(node_id, deadline) for node_id in wanted}

        return self._each(DescribeLogDirsResult(wanted), "describe log directories", work, timeout)

    def describe_replica_log_dirs(
        self, replicas: Collection[TopicPartitionReplica], *, timeout: float | None = None
    ) -> DescribeReplicaLogDirsResult:
        wanted = [TopicPartitionReplica(*each) for each in replicas]

        def work(deadline: Deadline) -> Mapping[TopicPartitionReplica, Any]:
            self._cluster.brokers(deadline)
            found = dict.fromkeys(wanted, ReplicaLogDirInfo())
            for node_id in {each.broker_id for each in wanted}:
                for path, description in self._log_dirs(node_id, deadline).items():
                    for at, info in description.replica_infos.items():
                        replica = TopicPartitionReplica(*at, node_id)
                        if replica in found:
                            found[replica] = _with(found[replica], path, info)
            return found

        return self._each(DescribeReplicaLogDirsResult(wanted), "describe replicas", work, timeout)

    def alter_replica_log_dirs(
        self, assignment: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> AlterReplicaLogDirsResult:
        """Move replicas to other directories of their brokers."""
        wanted = {TopicPartitionReplica(*each): path for each, path in assignment.items()}

        def work(deadline: Deadline) -> Mapping[TopicPartitionReplica, Any]:
            self._cluster.brokers(deadline)
            found: dict[TopicPartitionReplica, Any] = {}
            for node_id in {each.broker_id for each in wanted}:
                paths: dict[str, list[TopicPartition]] = {}
                for each, path in wanted.items():
                    if each.broker_id == node_id:
                        paths.setdefault(path, []).append(TopicPartition(each.topic, each.partition))
                dirs = [
                    {
                        "path": path,
                        "topics": [
                            {"name": name, "partitions": indexes}
                            for name, indexes in by_topic(partitions).items()
                        ],
                    }
                    for path, partitions in paths.items()
                ]
                answer = self._ask(Api.ALTER_REPLICA_LOG_DIRS, {"dirs": dirs}, (1, 2), deadline, node_id)
                for topic in answer.results:
                    for part in topic.partitions:
                        replica = TopicPartitionReplica(topic.topic_name, part.partition_index, node_id)
                        found[replica] = failure(part, f"move {replica}")
            return found

        return self._each(AlterReplicaLogDirsResult(wanted), "move replicas", work, timeout)

    def _log_dirs(self, node_id: int, deadline: Deadline) -> dict[str, LogDirDescription]:
        answer = self._ask(Api.DESCRIBE_LOG_DIRS, {"topics": None}, (1, 4), deadline, node_id)
        code = error_code(getattr(answer, "error_code", 0))
        if code is not ErrorCode.NONE:
            raise from_code(code, f"describe the log directories of broker {node_id}")
        return {part.log_dir: _log_dir(part) for part in answer.results}


def milliseconds(deadline: Deadline) -> int:
    return max(1, int(deadline.remaining() * 1000))


def _log_dir(part: Any) -> LogDirDescription:
    infos = {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in part.topics
        for each in topic.partitions
    }
    total, usable = getattr(part, "total_bytes", -1), getattr(part, "usable_bytes", -1)
    return LogDirDescription(
        failure(part, f"read {part.log_dir}"),
        infos,
        total if total >= 0 else None,
        usable if usable >= 0 else None,
    )


def _with(known: ReplicaLogDirInfo, path: str, info: ReplicaInfo) -> ReplicaLogDirInfo:
    if info.is_future:
        return known._replace(future_replica_log_dir=path, future_replica_offset_lag=info.offset_lag)
    return known._replace(current_replica_log_dir=path, current_replica_offset_lag=info.offset_lag)


def _none_failed(found: Mapping[TopicPartition, KafkaException | None]) -> None:
    for error in found.values():
        if error is not None and getattr(error, "error_name", "") != ErrorCode.ELECTION_NOT_NEEDED.name:
            raise error
