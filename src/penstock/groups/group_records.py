"""The record of a classic group in `__consumer_offsets`, in Kafka's own layout (key v2, value v3)."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.groups.record_keys import KeyKind, encode_key
from penstock.protocol.primitives import Reader, Writer
from penstock.records.record import Record

VALUE_VERSION: Final = 3
FIRST_FLEXIBLE: Final = 4


class MemberValue(NamedTuple):
    """A member of a generation. `subscription` is its metadata under the protocol that was chosen."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(NamedTuple):
    """A generation of a classic group; without members, a group that waits for the next one."""

    protocol_type: str
    generation_id: int
    protocol: str | None
    leader: str | None
    state_timestamp_ms: int
    members: tuple[MemberValue, ...]


def group_record(group: str, value: GroupValue | None, now_ms: int) -> Record:
    """None makes the tombstone."""
    data = None if value is None else encode_value(value)
    return Record(encode_key(KeyKind.GROUP, group), data, (), now_ms)


def encode_value(value: GroupValue) -> bytes:
    writer = Writer()
    writer.int16(VALUE_VERSION)
    writer.string(value.protocol_type)
    writer.int32(value.generation_id)
    writer.nullable_string(value.protocol)
    writer.nullable_string(value.leader)
    writer.int64(value.state_timestamp_ms)
    writer.array(len(value.members))
    for member in value.members:
        writer.string(member.member_id)
        writer.nullable_string(member.instance_id)
        writer.string(member.client_id)
        writer.string(member.client_host)
        writer.int32(member.rebalance_timeout_ms)
        writer.int32(member.session_timeout_ms)
        for data in (member.subscription, member.assignment):
            writer.length(len(data))
            writer.data += data
    return bytes(writer.data)


def decode_value(data: bytes) -> GroupValue:
    """Versions 0 to 4, as Kafka wrote them over the years."""
    reader = Reader(memoryview(data))
    version = reader.int16()
    reader.flexible = version >= FIRST_FLEXIBLE
    protocol_type = reader.string()
    generation_id = reader.int32()
    protocol = reader.nullable_string()
    leader = reader.nullable_string()
    timestamp_ms = reader.int64() if version >= 2 else -1
    members = tuple(_decode_member(reader, version) for _ in range(reader.array(12)))
    return GroupValue(protocol_type, generation_id, protocol, leader, timestamp_ms, members)


def _decode_member(reader: Reader, version: int) -> MemberValue:
    member_id = reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    client_id, client_host = reader.string(), reader.string()
    rebalance_timeout_ms = reader.int32() if version >= 1 else -1
    session_timeout_ms = reader.int32()
    subscription = bytes(reader.nullable_bytes() or b"")
    assignment = bytes(reader.nullable_bytes() or b"")
    reader.tags()
    return MemberValue(
        member_id,
        instance_id,
        client_id,
        client_host,
        session_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    )
