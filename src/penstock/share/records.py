"""The records of `__share_group_state`, in Kafka's layout: snapshots (key 0) and updates (key 1).

Penstock writes snapshots only, each of which holds the whole state of a partition: the topic can be
compacted. Updates are read, because Kafka writes them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.protocol.primitives import Reader, Writer
from penstock.records.record import Record
from penstock.share.state import PartitionState, RecordState, SharePartitionKey, StateBatch

SNAPSHOT: Final = 0
UPDATE: Final = 1
VERSION: Final = 0


class Snapshot(NamedTuple):
    state: PartitionState
    snapshot_epoch: int


class Update(NamedTuple):
    """A change of the batches since the last snapshot. -1 as start offset means: as before."""

    leader_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]


def encode_snapshot(key: SharePartitionKey, state: PartitionState, epoch: int, now_ms: int) -> Record:
    writer = Writer()
    writer.int16(VERSION)
    writer.flexible = True
    writer.int32(epoch)
    writer.int32(state.state_epoch)
    writer.int32(state.leader_epoch)
    writer.int64(state.start_offset)
    writer.int64(now_ms)
    writer.int64(now_ms)
    writer.array(len(state.batches))
    for batch in state.batches:
        writer.int64(batch.first_offset)
        writer.int64(batch.last_offset)
        writer.int8(batch.state)
        writer.int16(batch.delivery_count)
        writer.tags()
    writer.tags()
    return Record(encode_key(key), bytes(writer.data), (), now_ms)


def tombstone(key: SharePartitionKey, now_ms: int) -> Record:
    return Record(encode_key(key), None, (), now_ms)


def encode_key(key: SharePartitionKey) -> bytes:
    writer = Writer()
    writer.int16(SNAPSHOT)
    writer.string(key.group_id)
    writer.uuid(key.topic_id)
    writer.int32(key.partition)
    return bytes(writer.data)


def decode_key(data: bytes) -> tuple[int, SharePartitionKey]:
    """The kind of the record, and whose it is. Kinds of later versions have other keys."""
    reader = Reader(memoryview(data))
    kind = reader.int16()
    if kind not in (SNAPSHOT, UPDATE):
        return kind, SharePartitionKey("", b"", -1)
    return kind, SharePartitionKey(reader.string(), reader.uuid(), reader.int32())


def decode_snapshot(data: bytes) -> Snapshot:
    reader = _value_reader(data)
    snapshot_epoch, state_epoch, leader_epoch = reader.int32(), reader.int32(), reader.int32()
    start_offset = reader.int64()
    reader.int64()  # when the state was made, and when it was written
    reader.int64()
    return Snapshot(
        PartitionState(state_epoch, leader_epoch, start_offset, _read_batches(reader)), snapshot_epoch
    )


def decode_update(data: bytes) -> Update:
    reader = _value_reader(data)
    reader.int32()  # the snapshot that it follows
    return Update(reader.int32(), reader.int64(), _read_batches(reader))


def _value_reader(data: bytes) -> Reader:
    reader = Reader(memoryview(data))
    reader.int16()
    reader.flexible = True
    return reader


def _read_batches(reader: Reader) -> tuple[StateBatch, ...]:
    found = []
    for _ in range(reader.array(19)):
        found.append(StateBatch(reader.int64(), reader.int64(), RecordState(reader.int8()), reader.int16()))
        reader.tags()
    return tuple(found)
