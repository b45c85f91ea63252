"""Bodies of version 3, and the answers to records that are produced."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Raw, Struct, field

from penstock.rest.config import NO_ZERO_BYTES
from penstock.rest.encoding import absent

Count = Annotated[int, Meta(ge=1, le=100_000)]
Name = Annotated[str, Meta(min_length=1, max_length=249, pattern=NO_ZERO_BYTES)]
Value = Annotated[str, Meta(pattern=NO_ZERO_BYTES)]


class ConfigValue(Struct, forbid_unknown_fields=True):
    name: Name
    value: Value | None = None


class NewTopic(Struct, forbid_unknown_fields=True):
    topic_name: str
    partitions_count: Count | None = None
    replication_factor: Annotated[int, Meta(ge=1, le=32_767)] | None = None
    replicas_assignments: dict[str, list[int]] | None = None
    configs: Annotated[list[ConfigValue], Meta(max_length=1_000)] = []
    validate_only: bool = False


class PartitionsCount(Struct, forbid_unknown_fields=True):
    partitions_count: Count


class NewValue(Struct, forbid_unknown_fields=True):
    value: Value | None = None


class ConfigChange(Struct, forbid_unknown_fields=True):
    name: Name
    value: Value | None = None
    operation: str | None = "SET"


class ConfigChanges(Struct, forbid_unknown_fields=True):
    data: Annotated[list[ConfigChange], Meta(max_length=1_000)]
    validate_only: bool = False


class Header(Struct, forbid_unknown_fields=True):
    """A header of a record; its value is base64."""

    name: Value
    value: str | None = None


class Data(Struct, forbid_unknown_fields=True):
    """A key or a value: in a format, or by a schema that the registry has."""

    data: Raw = field(default_factory=absent)
    type: str | None = None
    subject: str | None = None
    subject_name_strategy: str | None = None
    schema_id: int | None = None
    schema_version: int | None = None
    schema: str | None = None


class ProduceRecord(Struct, forbid_unknown_fields=True):
    partition_id: int | None = None
    headers: Annotated[list[Header], Meta(max_length=1_000)] = []
    key: Data | None = None
    value: Data | None = None
    timestamp: str | None = None


class BatchEntry(ProduceRecord):
    id: Annotated[str, Meta(min_length=1, max_length=80)] = ""


class Batch(Struct, forbid_unknown_fields=True):
    entries: list[BatchEntry]


class WrittenData(Struct, omit_defaults=True):
    type: str
    subject: str | None = None
    schema_id: int | None = None
    schema_version: int | None = None
    size: int | None = None


class Written(Struct, omit_defaults=True):
    """Where one record is; 200 says that it is there."""

    error_code: int
    cluster_id: str
    topic_name: str
    partition_id: int
    offset: int
    timestamp: str | None = None
    key: WrittenData | None = None
    value: WrittenData | None = None


class RecordAnswer(Struct, omit_defaults=True):
    """The line that answers one record: as `Written`, or the code and the message of an error."""

    error_code: int
    message: str | None = None
    cluster_id: str | None = None
    topic_name: str | None = None
    partition_id: int | None = None
    offset: int | None = None
    timestamp: str | None = None
    key: WrittenData | None = None
    value: WrittenData | None = None


class Success(Struct, omit_defaults=True):
    id: str
    cluster_id: str
    topic_name: str
    partition_id: int
    offset: int
    timestamp: str | None = None
    key: WrittenData | None = None
    value: WrittenData | None = None


class Failure(Struct):
    id: str
    error_code: int
    message: str


class BatchResult(Struct):
    successes: list[Success]
    failures: list[Failure]
