"""The metadata record of a change to a partition, in Kafka's layout: only what changed is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from penstock.controller.directory_ids import known
from penstock.protocol.primitives import Reader, Writer

LEADER_UNCHANGED = -2
_ISR, _LEADER, _REPLICAS, _REMOVING, _ADDING, _ELR, _LAST_KNOWN_ELR, _DIRECTORIES = 0, 1, 2, 3, 4, 6, 7, 8


@dataclass(frozen=True, slots=True)
class PartitionChangeRecord:
    """The partition's epoch goes up by one; its leader epoch, too, when the record names a leader (even the
    old one) or takes it away. None leaves a list as it is."""

    api_key: ClassVar[int] = 5
    version: ClassVar[int] = 2
    partition: int
    topic_id: bytes
    isr: tuple[int, ...] | None = None
    leader: int = LEADER_UNCHANGED
    replicas: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    directories: tuple[bytes, ...] | None = None
    """The log directory of each replica (KIP-858); empty when nothing is known of any."""

    def write(self, writer: Writer) -> None:
        writer.int32(self.partition)
        writer.uuid(self.topic_id)

    def tagged(self) -> dict[int, bytes]:
        lists = {
            _ISR: self.isr,
            _REPLICAS: self.replicas,
            _REMOVING: self.removing,
            _ADDING: self.adding,
            _ELR: self.elr,
            _LAST_KNOWN_ELR: self.last_known_elr,
        }
        fields = {tag: int32_list(values) for tag, values in lists.items() if values is not None}
        if self.leader != LEADER_UNCHANGED:
            fields[_LEADER] = self.leader.to_bytes(4, "big", signed=True)
        if self.directories is not None:
            fields[_DIRECTORIES] = uuid_list(self.directories)
        return fields

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        partition, topic_id = reader.int32(), reader.uuid()
        tags = reader.tags()
        isr, replicas, elr, last_known, removing, adding = (
            read_int32_list(tags[tag]) if tag in tags else None
            for tag in (_ISR, _REPLICAS, _ELR, _LAST_KNOWN_ELR, _REMOVING, _ADDING)
        )
        leader = int.from_bytes(tags[_LEADER], "big", signed=True) if _LEADER in tags else LEADER_UNCHANGED
        told = tags.get(_DIRECTORIES)
        directories = None if told is None else known(read_uuids(Reader(told, flexible=True)))
        return cls(partition, topic_id, isr, leader, replicas, elr, last_known, removing, adding, directories)


def int32_list(values: tuple[int, ...]) -> bytes:
    """A list of numbers as the content of a tagged field."""
    writer = Writer(flexible=True)
    writer.int32_array(values)
    return bytes(writer.data)


def read_int32_list(data: memoryview) -> tuple[int, ...]:
    return tuple(Reader(data, flexible=True).int32_array())


def uuid_list(values: tuple[bytes, ...]) -> bytes:
    """A list of ids as the content of a tagged field."""
    writer = Writer(flexible=True)
    writer.uuid_array(values)
    return bytes(writer.data)


def read_uuids(reader: Reader) -> tuple[bytes, ...]:
    return tuple(reader.uuid() for _ in range(reader.array(16)))
