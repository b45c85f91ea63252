"""Topics, their partitions and records: made, listed, described, grown, emptied and deleted."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from penstock.client.api.admin.asking import Asking, by_topic, failure, refusal
from penstock.client.api.admin.replicas import milliseconds
from penstock.client.api.admin.results import Keyed, mapped
from penstock.protocol.apis import Api
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.deadline import Deadline

READ_UNCOMMITTED = "read_uncommitted"


class NewTopic(NamedTuple):
    """None takes the broker's default. `replicas_assignments` names the brokers of each partition instead."""

    name: str
    num_partitions: int | None = None
    replication_factor: int | None = None
    replicas_assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, str] | None = None


class NewPartitions(NamedTuple):
    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None

    @classmethod
    def increase_to(cls, total: int, assignments: Sequence[Sequence[int]] | None = None) -> NewPartitions:
        return cls(total, assignments)


class TopicListing(NamedTuple):
    name: str
    topic_id: uuid.UUID | None
    is_internal: bool


class TopicPartitionInfo(NamedTuple):
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


class TopicDescription(NamedTuple):
    name: str
    topic_id: uuid.UUID | None
    is_internal: bool
    partitions: tuple[TopicPartitionInfo, ...]


class TopicMetadataAndConfig(NamedTuple):
    topic_id: uuid.UUID | None
    num_partitions: int
    replication_factor: int
    config: dict[str, str | None]


class OffsetSpec(NamedTuple):
    """Which offset of a partition: `OffsetSpec.latest()`, `OffsetSpec.for_timestamp(ms)`, …"""

    timestamp: int

    @classmethod
    def latest(cls) -> OffsetSpec:
        return cls(-1)

    @classmethod
    def earliest(cls) -> OffsetSpec:
        return cls(-2)

    @classmethod
    def max_timestamp(cls) -> OffsetSpec:
        return cls(-3)

    @classmethod
    def for_timestamp(cls, timestamp_ms: int) -> OffsetSpec:
        return cls(timestamp_ms)


class ListOffsetsResultInfo(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int | None


class CreateTopicsResult(Keyed[str, TopicMetadataAndConfig]):
    def topic_id(self, topic: str) -> Future[uuid.UUID | None]:
        return mapped(self._values[topic], lambda made: made.topic_id)

    def num_partitions(self, topic: str) -> Future[int]:
        return mapped(self._values[topic], lambda made: made.num_partitions)

    def replication_factor(self, topic: str) -> Future[int]:
        return mapped(self._values[topic], lambda made: made.replication_factor)

    def config(self, topic: str) -> Future[dict[str, str | None]]:
        return mapped(self._values[topic], lambda made: made.config)


class DeleteTopicsResult(Keyed[str, None]):
    topic_name_values = Keyed.values


class DescribeTopicsResult(Keyed[str, TopicDescription]):
    topic_name_values = Keyed.values
    all_topic_names = Keyed.all


class CreatePartitionsResult(Keyed[str, None]): ...


class DeleteRecordsResult(Keyed[TopicPartition, int]):
    """The first offset that each partition still has."""

    low_watermarks = Keyed.values


class ListOffsetsResult(Keyed[TopicPartition, ListOffsetsResultInfo]):
    def partition_result(self, partition: TopicPartition) -> Future[ListOffsetsResultInfo]:
        return self._values[TopicPartition(*partition)]


class ListTopicsResult:
    def __init__(self, listings: Future[dict[str, TopicListing]]) -> None:
        self._listings = listings

    def names_to_listings(self) -> Future[dict[str, TopicListing]]:
        return self._listings

    def listings(self) -> Future[list[TopicListing]]:
        return mapped(self._listings, lambda found: list(found.values()))

    def names(self) -> Future[set[str]]:
        return mapped(self._listings, set)


class Topics(Asking):
    def create_topics(
        self, new_topics: Iterable[NewTopic], *, validate_only: bool = False, timeout: float | None = None
    ) -> CreateTopicsResult:
        wanted = list(new_topics)

        def work(deadline: Deadline) -> Mapping[str, Any]:
            fields = {
                "topics": [_creation(each) for each in wanted],
                "timeout": milliseconds(deadline),
                "validate_only": validate_only,
            }
            answer = self._ask(
                *(Api.CREATE_TOPICS, fields, (2, 7), deadline),
                codes=lambda found: [each.error_code for each in found.topics],
            )
            return {
                each.name: failure(each, f"create topic {each.name!r}") or _created(each)
                for each in answer.topics
            }

        names = [each.name for each in wanted]
        return self._each(CreateTopicsResult(names), "create topics", work, timeout)

    def delete_topics(self, topics: Collection[str], *, timeout: float | None = None) -> DeleteTopicsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            fields = {
                "topics": [{"name": name, "topic_id": None} for name in topics],
                "topic_names": list(topics),
                "timeout": milliseconds(deadline),
            }
            answer = self._ask(
                *(Api.DELETE_TOPICS, fields, (1, 6), deadline),
                codes=lambda found: [each.error_code for each in found.responses],
            )
            return {each.name: failure(each, f"delete topic {each.name!r}") for each in answer.responses}

        return self._each(DeleteTopicsResult(topics), "delete topics", work, timeout)

    def list_topics(self, *, list_internal: bool = False, timeout: float | None = None) -> ListTopicsResult:
        def work(deadline: Deadline) -> dict[str, TopicListing]:
            return {
                each.name: TopicListing(each.name, getattr(each, "topic_id", None), each.is_internal)
                for each in self._metadata(None, deadline)
                if list_internal or not each.is_internal
            }

        return ListTopicsResult(self._one("list topics", work, timeout))

    def describe_topics(
        self, topics: Collection[str], *, timeout: float | None = None
    ) -> DescribeTopicsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {
                each.name: failure(each, f"describe topic {each.name!r}") or _description(each)
                for each in self._metadata(list(topics), deadline)
            }

        return self._each(DescribeTopicsResult(topics), "describe topics", work, timeout)

    def create_partitions(
        self,
        new_partitions: Mapping[str, NewPartitions],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> CreatePartitionsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            fields = {
                "topics": [_growth(name, each) for name, each in new_partitions.items()],
                "timeout": milliseconds(deadline),
                "validate_only": validate_only,
            }
            answer = self._ask(Api.CREATE_PARTITIONS, fields, (0, 3), deadline)
            return {each.name: failure(each, f"add partitions to {each.name!r}") for each in answer.results}

        return self._each(CreatePartitionsResult(new_partitions), "create partitions", work, timeout)

    def delete_records(
        self, records_to_delete: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> DeleteRecordsResult:
        """Records before each offset; -1 is the end."""
        wanted = {TopicPartition(*at): offset for at, offset in records_to_delete.items()}

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            def ask(node_id: int, led: list[TopicPartition]) -> Mapping[TopicPartition, Any]:
                topics = [
                    {
                        "name": name,
                        "partitions": [
                            {"partition_index": index, "offset": wanted[TopicPartition(name, index)]}
                            for index in indexes
                        ],
                    }
                    for name, indexes in by_topic(led).items()
                ]
                fields = {"topics": topics, "timeout": milliseconds(deadline)}
                answer = self._ask(Api.DELETE_RECORDS, fields, (0, 2), deadline, node_id)
                return {
                    TopicPartition(topic.name, each.partition_index): (
                        refusal(each, "delete records") or each.low_watermark
                    )
                    for topic in answer.topics
                    for each in topic.partitions
                }

            return self._at_leaders(wanted, ask, deadline)

        return self._each(DeleteRecordsResult(wanted), "delete records", work, timeout)

    def list_offsets(
        self,
        topic_partition_offsets: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: str = READ_UNCOMMITTED,
        timeout: float | None = None,
    ) -> ListOffsetsResult:
        wanted = {TopicPartition(*at): spec for at, spec in topic_partition_offsets.items()}
        isolation = 0 if isolation_level == READ_UNCOMMITTED else 1

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            def ask(node_id: int, led: list[TopicPartition]) -> Mapping[TopicPartition, Any]:
                fields = {
                    "replica_id": -1,
                    "isolation_level": isolation,
                    "topics": [
                        {"name": name, "partitions": [_looked_for(name, index, wanted) for index in indexes]}
                        for name, indexes in by_topic(led).items()
                    ],
                    "timeout": milliseconds(deadline),
                }
                newest_first = any(wanted[at].timestamp == -3 for at in led)
                answer = self._ask(
                    *(Api.LIST_OFFSETS, fields, (7 if newest_first else 2, 10), deadline, node_id)
                )
                return {
                    TopicPartition(topic.name, each.partition_index): (
                        refusal(each, "list offsets") or _offset(each)
                    )
                    for topic in answer.topics
                    for each in topic.partitions
                }

            return self._at_leaders(wanted, ask, deadline)

        return self._each(ListOffsetsResult(wanted), "list offsets", work, timeout)

    def _metadata(self, names: list[str] | None, deadline: Deadline) -> Sequence[Any]:
        fields = {
            "topics": None if names is None else [{"name": name, "topic_id": None} for name in names],
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        }
        found: Sequence[Any] = self._ask(Api.METADATA, fields, (4, 12), deadline).topics
        return found


def _creation(topic: NewTopic) -> dict[str, Any]:
    assignments = topic.replicas_assignments or {}
    by_hand = bool(assignments)
    return {
        "name": topic.name,
        "num_partitions": -1 if by_hand or topic.num_partitions is None else topic.num_partitions,
        "replication_factor": -1 if by_hand or topic.replication_factor is None else topic.replication_factor,
        "assignments": [
            {"partition_index": index, "broker_ids": list(brokers)} for index, brokers in assignments.items()
        ],
        "configs": [{"name": name, "value": value} for name, value in (topic.configs or {}).items()],
    }


def _created(part: Any) -> TopicMetadataAndConfig:
    return TopicMetadataAndConfig(
        getattr(part, "topic_id", None),
        getattr(part, "num_partitions", -1),
        getattr(part, "replication_factor", -1),
        {each.name: each.value for each in getattr(part, "configs", None) or ()},
    )


def _description(part: Any) -> TopicDescription:
    partitions = sorted(part.partitions, key=lambda each: int(each.partition_index))
    return TopicDescription(
        part.name,
        getattr(part, "topic_id", None),
        part.is_internal,
        tuple(
            TopicPartitionInfo(
                each.partition_index,
                each.leader_id if each.leader_id >= 0 else None,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
                tuple(getattr(each, "offline_replicas", ())),
            )
            for each in partitions
        ),
    )


def _growth(name: str, wanted: NewPartitions) -> dict[str, Any]:
    assignments = wanted.new_assignments
    return {
        "name": name,
        "count": wanted.total_count,
        "assignments": None
        if assignments is None
        else [{"broker_ids": list(brokers)} for brokers in assignments],
    }


def _looked_for(name: str, index: int, wanted: Mapping[TopicPartition, OffsetSpec]) -> dict[str, int]:
    spec = wanted[TopicPartition(name, index)]
    return {"partition_index": index, "current_leader_epoch": -1, "timestamp": spec.timestamp}


def _offset(part: Any) -> ListOffsetsResultInfo:
    epoch = getattr(part, "leader_epoch", -1)
    return ListOffsetsResultInfo(part.offset, part.timestamp, epoch if epoch >= 0 else None)
