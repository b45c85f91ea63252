"""The records of share groups (KIP-932) in `__consumer_offsets`, in Kafka's own layouts: keys 10 to 15,
values of version 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.groups.consumer_records import (
    Assignment,
    flexible_reader,
    flexible_writer,
    read_assignment,
    write_assignment,
)
from penstock.groups.record_keys import KeyKind, encode_key
from penstock.protocol.primitives import Reader, Writer
from penstock.records.record import Record


class ShareMemberValue(NamedTuple):
    """What a member says of itself."""

    rack_id: str | None
    client_id: str
    client_host: str
    topic_names: tuple[str, ...]


class ShareCurrentValue(NamedTuple):
    """What a member has."""

    member_epoch: int
    previous_member_epoch: int
    assigned: Assignment


class StateTopic(NamedTuple):
    """A topic of whose partitions the share coordinator may keep states of the group."""

    name: str
    partitions: frozenset[int]


STABLE = 0


class ShareRecords:
    """Makes the records of one group; None as a value makes the tombstone."""

    def __init__(self, group_id: str, now_ms: int) -> None:
        self._group_id = group_id
        self._now_ms = now_ms

    def epoch(self, epoch: int | None) -> Record:
        if epoch is None:
            return self._record(KeyKind.SHARE_GROUP, None)
        writer = flexible_writer()
        writer.int32(epoch)
        writer.int64(0)  # Kafka's hash of the topics; here their changes are seen by comparing them
        return self._done(KeyKind.SHARE_GROUP, writer)

    def target_epoch(self, epoch: int | None) -> Record:
        if epoch is None:
            return self._record(KeyKind.SHARE_TARGET, None)
        writer = flexible_writer()
        writer.int32(epoch)
        return self._done(KeyKind.SHARE_TARGET, writer)

    def member(self, member_id: str, value: ShareMemberValue | None) -> Record:
        if value is None:
            return self._record(KeyKind.SHARE_MEMBER, None, member_id)
        writer = flexible_writer()
        writer.nullable_string(value.rack_id)
        writer.string(value.client_id)
        writer.string(value.client_host)
        writer.array(len(value.topic_names))
        for name in value.topic_names:
            writer.string(name)
        return self._done(KeyKind.SHARE_MEMBER, writer, member_id)

    def target(self, member_id: str, assignment: Assignment | None) -> Record:
        if assignment is None:
            return self._record(KeyKind.SHARE_TARGET_MEMBER, None, member_id)
        writer = flexible_writer()
        write_assignment(writer, assignment)
        return self._done(KeyKind.SHARE_TARGET_MEMBER, writer, member_id)

    def current(self, member_id: str, value: ShareCurrentValue | None) -> Record:
        if value is None:
            return self._record(KeyKind.SHARE_CURRENT_MEMBER, None, member_id)
        writer = flexible_writer()
        writer.int32(value.member_epoch)
        writer.int32(value.previous_member_epoch)
        writer.int8(STABLE)
        write_assignment(writer, value.assigned)
        return self._done(KeyKind.SHARE_CURRENT_MEMBER, writer, member_id)

    def state_topics(self, topics: Mapping[bytes, StateTopic] | None) -> Record:
        if topics is None:
            return self._record(KeyKind.SHARE_STATE_TOPICS, None)
        writer = flexible_writer()
        writer.array(0)  # those that are being initialised: here a leader does that by itself
        writer.array(len(topics))
        for topic_id in sorted(topics):
            writer.uuid(topic_id)
            writer.string(topics[topic_id].name)
            writer.int32_array(sorted(topics[topic_id].partitions))
            writer.tags()
        writer.array(0)  # those that are being deleted
        return self._done(KeyKind.SHARE_STATE_TOPICS, writer)

    def remove_member(self, member_id: str) -> list[Record]:
        return [self.current(member_id, None), self.target(member_id, None), self.member(member_id, None)]

    def _done(self, kind: KeyKind, writer: Writer, *rest: str) -> Record:
        writer.tags()
        return self._record(kind, bytes(writer.data), *rest)

    def _record(self, kind: KeyKind, value: bytes | None, *rest: str) -> Record:
        return Record(encode_key(kind, self._group_id, *rest), value, (), self._now_ms)


def decode_share_member(data: bytes) -> ShareMemberValue:
    reader = flexible_reader(data)
    rack_id, client_id, client_host = reader.nullable_string(), reader.string(), reader.string()
    names = tuple(reader.string() for _ in range(reader.array()))
    return ShareMemberValue(rack_id, client_id, client_host, names)


def decode_share_current(data: bytes) -> ShareCurrentValue:
    reader = flexible_reader(data)
    epoch, previous = reader.int32(), reader.int32()
    reader.int8()
    return ShareCurrentValue(epoch, previous, read_assignment(reader))


def decode_state_topics(data: bytes) -> dict[bytes, StateTopic]:
    """Topics that are being initialised count as well: Kafka may have written them."""
    reader = flexible_reader(data)
    return {**_read_topics(reader), **_read_topics(reader)}


def _read_topics(reader: Reader) -> dict[bytes, StateTopic]:
    topics = {}
    for _ in range(reader.array(17)):
        topic_id = reader.uuid()
        topics[topic_id] = StateTopic(reader.string(), frozenset(reader.int32_array()))
        reader.tags()
    return topics
