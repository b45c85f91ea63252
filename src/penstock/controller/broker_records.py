"""The metadata records about brokers, in Kafka's layout: registered, changed, gone.

What a broker's registration holds at a moment is `penstock.controller.image:BrokerState`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

from penstock.controller.partition_records import read_uuids, uuid_list
from penstock.protocol.primitives import Reader, Writer

_UNCHANGED, _SET, _CLEARED = 0, 1, -1


class Endpoint(NamedTuple):
    """How to reach a broker through one of its listeners. `security_protocol` is Kafka's number: 0 is
    PLAINTEXT."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True, slots=True)
class RegisterBrokerRecord:
    """A broker has a new life: another process, or the same one under another epoch."""

    api_key: ClassVar[int] = 0
    version: ClassVar[int] = 3
    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    """The ids of its log directories."""

    def write(self, writer: Writer) -> None:
        writer.int32(self.broker_id)
        writer.boolean(False)  # no broker moves here from ZooKeeper
        writer.uuid(self.incarnation_id)
        writer.int64(self.broker_epoch)
        writer.array(len(self.endpoints))
        for endpoint in self.endpoints:
            writer.string(endpoint.name)
            writer.string(endpoint.host)
            writer.data += endpoint.port.to_bytes(2, "big")
            writer.int16(endpoint.security_protocol)
            writer.tags()
        writer.array(0)  # features: all that this version has
        writer.nullable_string(self.rack)
        writer.boolean(self.fenced)
        writer.boolean(self.in_controlled_shutdown)

    def tagged(self) -> dict[int, bytes]:
        if not self.directories:
            return {}
        return {0: uuid_list(self.directories)}

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        broker_id = reader.int32()
        if version >= 2:
            reader.boolean()
        incarnation_id, broker_epoch = reader.uuid(), reader.int64()
        endpoints = []
        for _ in range(reader.array(7)):
            endpoints.append(
                Endpoint(reader.string(), reader.string(), reader.int16() & 0xFFFF, reader.int16())
            )
            reader.tags()
        for _ in range(reader.array(6)):
            reader.string(), reader.int16(), reader.int16(), reader.tags()
        rack, fenced = reader.nullable_string(), reader.boolean()
        shutting_down = reader.boolean() if version >= 1 else False
        directories = _read_directories(reader.tags().get(0))
        return cls(
            broker_id,
            incarnation_id,
            broker_epoch,
            tuple(endpoints),
            rack,
            fenced,
            shutting_down,
            directories,
        )


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRecord:
    """The broker is forgotten."""

    api_key: ClassVar[int] = 1
    version: ClassVar[int] = 0
    broker_id: int
    broker_epoch: int

    def write(self, writer: Writer) -> None:
        writer.int32(self.broker_id)
        writer.int64(self.broker_epoch)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.int32(), reader.int64())


@dataclass(frozen=True, slots=True)
class BrokerRegistrationChangeRecord:
    """The broker of this epoch is fenced, unfenced, about to stop, or has fewer directories; None leaves as
    it is."""

    api_key: ClassVar[int] = 17
    version: ClassVar[int] = 2
    broker_id: int
    broker_epoch: int
    fenced: bool | None = None
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    """The ids of those that are left; empty when none has failed."""

    def least_version(self) -> int:
        return self.version if self.directories else 1

    def write(self, writer: Writer) -> None:
        writer.int32(self.broker_id)
        writer.int64(self.broker_epoch)

    def tagged(self) -> dict[int, bytes]:
        fields = {}
        if self.fenced is not None:
            fields[0] = (_SET if self.fenced else _CLEARED).to_bytes(1, "big", signed=True)
        if self.in_controlled_shutdown:
            fields[1] = _SET.to_bytes(1, "big")
        if self.directories:
            fields[2] = uuid_list(self.directories)
        return fields

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        broker_id, broker_epoch = reader.int32(), reader.int64()
        tags = reader.tags()
        change = int.from_bytes(tags.get(0, b"\x00"), "big", signed=True)
        fenced = None if change == _UNCHANGED else change == _SET
        leaves = bytes(tags.get(1, b"\x00")) == b"\x01"
        return cls(broker_id, broker_epoch, fenced, leaves, _read_directories(tags.get(2)))


def _read_directories(data: memoryview | None) -> tuple[bytes, ...]:
    return () if data is None else read_uuids(Reader(data, flexible=True))
