"""Bodies and answers of version 2, under Confluent's names. The OpenAPI document is made of these."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct, field

from penstock.rest.config import NO_ZERO_BYTES, PARTITIONS_MAX
from penstock.rest.encoding import absent

TopicName = Annotated[str, Meta(max_length=249, pattern=r"^[A-Za-z0-9._-]+$")]
InstanceName = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_ZERO_BYTES)]
CommitMetadata = Annotated[str, Meta(max_length=4096, pattern=NO_ZERO_BYTES)]
PartitionId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Meta(ge=0, le=2**63 - 2)]


class Replica(Struct):
    broker: int
    leader: bool
    in_sync: bool


class Partition(Struct):
    partition: int
    leader: int
    replicas: list[Replica]


class Topic(Struct):
    name: str
    configs: dict[str, str | None]
    partitions: list[Partition]


class Offsets(Struct):
    beginning_offset: int
    end_offset: int


class Brokers(Struct):
    brokers: list[int]


class ProduceRecord(Struct, forbid_unknown_fields=True):
    """One record; key and value are in the embedded format that the content type names."""

    key: Raw = field(default_factory=absent)
    value: Raw = field(default_factory=absent)
    partition: PartitionId | None = None


class Produce(Struct, forbid_unknown_fields=True):
    records: Annotated[list[ProduceRecord], Meta(min_length=1)]
    key_schema: str | None = None
    key_schema_id: int | None = None
    value_schema: str | None = None
    value_schema_id: int | None = None


class PartitionOffset(Struct):
    """Where a record is, or why it is nowhere."""

    partition: int | None
    offset: int | None
    error_code: int | None
    error: str | None


class Produced(Struct):
    offsets: list[PartitionOffset]
    key_schema_id: int | None
    value_schema_id: int | None


class NewInstance(Struct, forbid_unknown_fields=True):
    """What a consumer instance shall be; `id` is the old name of `name`."""

    name: InstanceName | None = None
    id: InstanceName | None = None
    format: str | None = None
    auto_offset_reset: str | None = field(default=None, name="auto.offset.reset")
    auto_commit_enable: bool | str | None = field(default=None, name="auto.commit.enable")
    fetch_min_bytes: int | str | None = field(default=None, name="fetch.min.bytes")
    request_timeout_ms: int | str | None = field(default=None, name="consumer.request.timeout.ms")


class CreatedInstance(Struct):
    instance_id: str
    base_uri: str


class Subscription(Struct, forbid_unknown_fields=True):
    """Topics by name, or by a pattern for whole names; one of the two."""

    topics: Annotated[list[TopicName], Meta(min_length=1, max_length=PARTITIONS_MAX)] | None = None
    topic_pattern: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None


class SubscribedTopics(Struct):
    topics: list[str]


class TopicPartition(Struct, forbid_unknown_fields=True):
    topic: TopicName
    partition: PartitionId


class Partitions(Struct, forbid_unknown_fields=True):
    partitions: Annotated[list[TopicPartition], Meta(max_length=PARTITIONS_MAX)]


class OffsetToCommit(Struct, forbid_unknown_fields=True):
    """The last offset that was processed: the group goes on with the next one."""

    topic: TopicName
    partition: PartitionId
    offset: Offset
    metadata: CommitMetadata | None = None


class OffsetsToCommit(Struct, forbid_unknown_fields=True):
    offsets: Annotated[list[OffsetToCommit], Meta(max_length=PARTITIONS_MAX)] | None = None


class CommittedOffset(Struct):
    topic: str
    partition: int
    offset: int
    metadata: str


class CommittedOffsets(Struct):
    offsets: list[CommittedOffset]


class Position(Struct, forbid_unknown_fields=True):
    topic: TopicName
    partition: PartitionId
    offset: Offset
    metadata: str | None = None


class TimePosition(Struct, forbid_unknown_fields=True):
    """To the first record at or after a time: ISO 8601, or milliseconds since 1970."""

    topic: TopicName
    partition: PartitionId
    timestamp: str | int
    metadata: str | None = None


class Positions(Struct, forbid_unknown_fields=True):
    offsets: Annotated[list[Position], Meta(max_length=PARTITIONS_MAX)] = []
    timestamps: Annotated[list[TimePosition], Meta(max_length=PARTITIONS_MAX)] = []


class ReadRecord(Struct):
    """A record as it is read; key and value are in the embedded format of the instance."""

    topic: str
    key: Any
    value: Any
    partition: int
    offset: int
