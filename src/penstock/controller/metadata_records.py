"""The records inside `__cluster_metadata`, in Kafka's own layout, so that Kafka's dump tool reads our log and
we read Kafka's.

A record's value is a frame (version 1), the record's key, its version, and a flexible structure. Only what is
replayed here is known; an unknown record is refused, because skipping one would silently give another state
than the one that was committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, Self, runtime_checkable

from penstock.controller.broker_records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from penstock.controller.directory_ids import MIGRATING, known
from penstock.controller.partition_records import (
    PartitionChangeRecord,
    int32_list,
    read_int32_list,
    read_uuids,
)
from penstock.controller.security_records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from penstock.protocol.primitives import MalformedMessage, Reader, Writer

FRAME_VERSION: Final = 1
NO_LEADER: Final = -1
_ELR, _LAST_KNOWN_ELR = 1, 2  # tags of a partition's record


class MetadataRecord(Protocol):
    """One fact that was decided. `api_key` and `version` are Kafka's numbers for it."""

    api_key: ClassVar[int]
    version: ClassVar[int]

    def write(self, writer: Writer) -> None: ...

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self: ...


@runtime_checkable
class Tagged(Protocol):
    """A record some of whose fields are optional and stand behind the others, by number."""

    def tagged(self) -> dict[int, bytes]: ...


@runtime_checkable
class Versioned(Protocol):
    """A record that is written in an older version where that suffices, for nodes that know no newer one."""

    def least_version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic exists under this name and id."""

    api_key: ClassVar[int] = 2
    version: ClassVar[int] = 0
    name: str
    topic_id: bytes

    def write(self, writer: Writer) -> None:
        writer.string(self.name)
        writer.uuid(self.topic_id)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.string(), reader.uuid())


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """A partition exists, with its replicas, its leader and the epochs of both."""

    api_key: ClassVar[int] = 3
    version: ClassVar[int] = 2
    partition: int
    topic_id: bytes
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    directories: tuple[bytes, ...] = ()
    """The log directory of each replica (KIP-858); empty when nothing is known of any."""

    def write(self, writer: Writer) -> None:
        writer.int32(self.partition)
        writer.uuid(self.topic_id)
        writer.int32_array(self.replicas)
        writer.int32_array(self.isr)
        writer.int32_array(self.removing)
        writer.int32_array(self.adding)
        writer.int32(self.leader)
        writer.int32(self.leader_epoch)
        writer.int32(self.partition_epoch)
        writer.uuid_array(self.directories or (MIGRATING,) * len(self.replicas))

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        partition, topic_id = reader.int32(), reader.uuid()
        replicas, isr = tuple(reader.int32_array()), tuple(reader.int32_array())
        removing, adding = tuple(reader.int32_array()), tuple(reader.int32_array())
        leader, leader_epoch, partition_epoch = reader.int32(), reader.int32(), reader.int32()
        directories = known(read_uuids(reader)) if version >= 1 else ()
        tags = reader.tags()
        elr, last_known = (
            read_int32_list(tags[tag]) if tag in tags else () for tag in (_ELR, _LAST_KNOWN_ELR)
        )
        return cls(
            partition,
            topic_id,
            replicas,
            isr,
            leader,
            leader_epoch,
            partition_epoch,
            elr,
            last_known,
            removing,
            adding,
            directories,
        )

    def tagged(self) -> dict[int, bytes]:
        lists = {_ELR: self.elr, _LAST_KNOWN_ELR: self.last_known_elr}
        return {tag: int32_list(values) for tag, values in lists.items() if values}


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """A setting of a topic or broker; None takes it back to its default."""

    api_key: ClassVar[int] = 4
    version: ClassVar[int] = 0
    resource_type: int
    resource_name: str
    name: str
    value: str | None

    def write(self, writer: Writer) -> None:
        writer.int8(self.resource_type)
        writer.string(self.resource_name)
        writer.string(self.name)
        writer.nullable_string(self.value)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.int8(), reader.string(), reader.string(), reader.nullable_string())


@dataclass(frozen=True, slots=True)
class RemoveTopicRecord:
    """The topic with this id is gone, with its partitions and its settings."""

    api_key: ClassVar[int] = 9
    version: ClassVar[int] = 0
    topic_id: bytes

    def write(self, writer: Writer) -> None:
        writer.uuid(self.topic_id)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.uuid())


@dataclass(frozen=True, slots=True)
class FeatureLevelRecord:
    """A feature has this level from now on."""

    api_key: ClassVar[int] = 12
    version: ClassVar[int] = 0
    name: str
    level: int

    def write(self, writer: Writer) -> None:
        writer.string(self.name)
        writer.int16(self.level)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.string(), reader.int16())


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """Producer ids below `next_producer_id` may have been handed out and never will be again."""

    api_key: ClassVar[int] = 15
    version: ClassVar[int] = 0
    broker_id: int
    broker_epoch: int
    next_producer_id: int

    def write(self, writer: Writer) -> None:
        writer.int32(self.broker_id)
        writer.int64(self.broker_epoch)
        writer.int64(self.next_producer_id)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.int32(), reader.int64(), reader.int64())


@dataclass(frozen=True, slots=True)
class ClientQuotaRecord:
    """A quota of an entity: (type, name) pairs, where a name of None is the default for those without one."""

    api_key: ClassVar[int] = 14
    version: ClassVar[int] = 0
    entity: tuple[tuple[str, str | None], ...]
    key: str
    value: float
    remove: bool

    def write(self, writer: Writer) -> None:
        writer.array(len(self.entity))
        for kind, name in self.entity:
            writer.string(kind)
            writer.nullable_string(name)
            writer.tags()
        writer.string(self.key)
        writer.float64(self.value)
        writer.boolean(self.remove)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        parts = []
        for _ in range(reader.array(3)):
            parts.append((reader.string(), reader.nullable_string()))
            reader.tags()
        entity = tuple(sorted(parts, key=lambda part: part[0]))
        return cls(entity, reader.string(), reader.float64(), reader.boolean())


_KNOWN: Final[dict[int, type[MetadataRecord]]] = {
    record.api_key: record
    for record in (
        TopicRecord,
        PartitionRecord,
        ConfigRecord,
        RemoveTopicRecord,
        ClientQuotaRecord,
        ProducerIdsRecord,
        FeatureLevelRecord,
        PartitionChangeRecord,
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        BrokerRegistrationChangeRecord,
        AccessControlEntryRecord,
        RemoveAccessControlEntryRecord,
        UserScramCredentialRecord,
        RemoveUserScramCredentialRecord,
        DelegationTokenRecord,
        RemoveDelegationTokenRecord,
    )
}


def encode(record: MetadataRecord) -> bytes:
    writer = Writer(flexible=True)
    version = record.least_version() if isinstance(record, Versioned) else record.version
    for number in (FRAME_VERSION, record.api_key, version):
        writer.unsigned_varint(number)
    record.write(writer)
    writer.tags(record.tagged() if isinstance(record, Tagged) else None)
    return bytes(writer.data)


def decode(data: bytes) -> MetadataRecord:
    reader = Reader(memoryview(data), flexible=True)
    frame_version = reader.unsigned_varint()
    api_key, version = reader.unsigned_varint(), reader.unsigned_varint()
    kind = _KNOWN.get(api_key)
    if frame_version != FRAME_VERSION or kind is None or version > kind.version:
        raise MalformedMessage(
            f"a metadata record with frame {frame_version}, key {api_key}, version {version}"
        )
    return kind.read(reader, version)
