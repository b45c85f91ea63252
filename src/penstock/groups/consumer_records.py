"""The records of groups of the consumer protocol (KIP-848) in `__consumer_offsets`, in Kafka's own layouts:
keys 3 to 8 and 16, values of version 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.groups.record_keys import KeyKind, encode_key
from penstock.protocol.primitives import Reader, Writer
from penstock.records.record import Record

VERSION: Final = 0

Assignment = Mapping[bytes, frozenset[int]]
"""Partitions by topic id; a topic without partitions is not in it."""

NO_PARTITIONS: Final[Assignment] = {}


class ClassicMetadata(NamedTuple):
    """Of a member that speaks the classic protocol in a group of the consumer protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class MemberValue(NamedTuple):
    """What a member says of itself."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topic_names: tuple[str, ...]
    topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic: ClassicMetadata | None = None


class CurrentValue(NamedTuple):
    """What a member has, or still has to give up."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned: Assignment
    pending_revocation: Assignment


class TopicValue(NamedTuple):
    """A topic as it was when the group last looked."""

    topic_id: bytes
    name: str
    partitions: int


class RegexValue(NamedTuple):
    """The topics that matched a regular expression."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


class Records:
    """Makes the records of one group; None as a value makes the tombstone."""

    def __init__(self, group_id: str, now_ms: int) -> None:
        self._group_id = group_id
        self._now_ms = now_ms

    def epoch(self, epoch: int | None) -> Record:
        return self._number(KeyKind.CONSUMER_GROUP, epoch)

    def target_epoch(self, epoch: int | None) -> Record:
        return self._number(KeyKind.CONSUMER_TARGET, epoch)

    def topics(self, topics: Mapping[str, TopicValue] | None) -> Record:
        return self._record(KeyKind.CONSUMER_TOPICS, None if topics is None else encode_topics(topics))

    def member(self, member_id: str, value: MemberValue | None) -> Record:
        data = None if value is None else encode_member(value)
        return self._record(KeyKind.CONSUMER_MEMBER, data, member_id)

    def target(self, member_id: str, assignment: Assignment | None) -> Record:
        data = None if assignment is None else encode_target(assignment)
        return self._record(KeyKind.CONSUMER_TARGET_MEMBER, data, member_id)

    def current(self, member_id: str, value: CurrentValue | None) -> Record:
        data = None if value is None else encode_current(value)
        return self._record(KeyKind.CONSUMER_CURRENT_MEMBER, data, member_id)

    def regex(self, regex: str, value: RegexValue | None) -> Record:
        data = None if value is None else encode_regex(value)
        return self._record(KeyKind.CONSUMER_REGEX, data, regex)

    def remove_member(self, member_id: str) -> list[Record]:
        return [self.current(member_id, None), self.target(member_id, None), self.member(member_id, None)]

    def _number(self, kind: KeyKind, number: int | None) -> Record:
        if number is None:
            return self._record(kind, None)
        writer = flexible_writer()
        writer.int32(number)
        writer.tags()
        return self._record(kind, bytes(writer.data))

    def _record(self, kind: KeyKind, value: bytes | None, *rest: str) -> Record:
        return Record(encode_key(kind, self._group_id, *rest), value, (), self._now_ms)


def flexible_writer() -> Writer:
    writer = Writer()
    writer.int16(VERSION)
    writer.flexible = True
    return writer


def flexible_reader(data: bytes) -> Reader:
    reader = Reader(memoryview(data))
    reader.int16()
    reader.flexible = True
    return reader


def decode_number(data: bytes) -> int:
    """The epoch of a group or of its target assignment."""
    return flexible_reader(data).int32()


def encode_member(value: MemberValue) -> bytes:
    writer = flexible_writer()
    writer.nullable_string(value.instance_id)
    writer.nullable_string(value.rack_id)
    writer.string(value.client_id)
    writer.string(value.client_host)
    writer.array(len(value.topic_names))
    for name in value.topic_names:
        writer.string(name)
    writer.nullable_string(value.topic_regex)
    writer.int32(value.rebalance_timeout_ms)
    writer.nullable_string(value.server_assignor)
    writer.tags(None if value.classic is None else {0: _encode_classic(value.classic)})
    return bytes(writer.data)


def _encode_classic(value: ClassicMetadata) -> bytes:
    """A nullable structure: one byte says that it is there."""
    writer = Writer(flexible=True)
    writer.int8(1)
    writer.int32(value.session_timeout_ms)
    writer.array(len(value.protocols))
    for name, metadata in value.protocols:
        writer.string(name)
        writer.length(len(metadata))
        writer.data += metadata
        writer.tags()
    writer.tags()
    return bytes(writer.data)


def decode_member(data: bytes) -> MemberValue:
    reader = flexible_reader(data)
    instance_id, rack_id = reader.nullable_string(), reader.nullable_string()
    client_id, client_host = reader.string(), reader.string()
    names = tuple(reader.string() for _ in range(reader.array()))
    regex = reader.nullable_string()
    timeout_ms = reader.int32()
    assignor = reader.nullable_string()
    classic = reader.tags().get(0)
    return MemberValue(
        instance_id,
        rack_id,
        client_id,
        client_host,
        names,
        regex,
        timeout_ms,
        assignor,
        None if classic is None else _decode_classic(Reader(classic, flexible=True)),
    )


def _decode_classic(reader: Reader) -> ClassicMetadata | None:
    if reader.int8() < 0:
        return None
    timeout_ms = reader.int32()
    protocols = []
    for _ in range(reader.array()):
        protocols.append((reader.string(), bytes(reader.nullable_bytes() or b"")))
        reader.tags()
    return ClassicMetadata(timeout_ms, tuple(protocols))


def encode_topics(topics: Mapping[str, TopicValue]) -> bytes:
    writer = flexible_writer()
    writer.array(len(topics))
    for topic in topics.values():
        writer.uuid(topic.topic_id)
        writer.string(topic.name)
        writer.int32(topic.partitions)
        writer.array(0)  # racks of partitions: Kafka 4 does not use them any more
        writer.tags()
    writer.tags()
    return bytes(writer.data)


def decode_topics(data: bytes) -> dict[str, TopicValue]:
    reader = flexible_reader(data)
    topics = {}
    for _ in range(reader.array()):
        topic = TopicValue(reader.uuid(), reader.string(), reader.int32())
        topics[topic.name] = topic
        for _ in range(reader.array()):
            reader.int32()
            for _ in range(reader.array()):
                reader.string()
            reader.tags()
        reader.tags()
    return topics


def encode_target(assignment: Assignment) -> bytes:
    writer = flexible_writer()
    write_assignment(writer, assignment)
    writer.tags()
    return bytes(writer.data)


def decode_target(data: bytes) -> Assignment:
    return read_assignment(flexible_reader(data))


def encode_current(value: CurrentValue) -> bytes:
    writer = flexible_writer()
    writer.int32(value.member_epoch)
    writer.int32(value.previous_member_epoch)
    writer.int8(value.state)
    write_assignment(writer, value.assigned)
    write_assignment(writer, value.pending_revocation)
    writer.tags()
    return bytes(writer.data)


def decode_current(data: bytes) -> CurrentValue:
    reader = flexible_reader(data)
    return CurrentValue(
        reader.int32(), reader.int32(), reader.int8(), read_assignment(reader), read_assignment(reader)
    )


def encode_regex(value: RegexValue) -> bytes:
    writer = flexible_writer()
    writer.array(len(value.topics))
    for name in value.topics:
        writer.string(name)
    writer.int64(value.version)
    writer.int64(value.timestamp_ms)
    writer.tags()
    return bytes(writer.data)


def decode_regex(data: bytes) -> RegexValue:
    reader = flexible_reader(data)
    return RegexValue(tuple(reader.string() for _ in range(reader.array())), reader.int64(), reader.int64())


def write_assignment(writer: Writer, assignment: Assignment) -> None:
    writer.array(len(assignment))
    for topic_id in sorted(assignment):
        writer.uuid(topic_id)
        writer.int32_array(sorted(assignment[topic_id]))
        writer.tags()


def read_assignment(reader: Reader) -> Assignment:
    assignment = {}
    for _ in range(reader.array(17)):
        topic_id = reader.uuid()
        assignment[topic_id] = frozenset(reader.int32_array())
        reader.tags()
    return assignment
