"""The records of `__transaction_state` in Kafka's own layout: key v0, value v1 (v0 is read too)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.protocol.primitives import Reader, Writer
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import NO_PRODUCER_ID
from penstock.records.record import Record
from penstock.transactions.transaction import CLASSIC, State, Transaction

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 1
FIRST_FLEXIBLE: Final = 1

_PREVIOUS_PRODUCER_ID: Final = 0  # tags of a flexible value
_NEXT_PRODUCER_ID: Final = 1
_CLIENT_VERSION: Final = 2


def transaction_record(transaction: Transaction) -> Record:
    value = encode_value(transaction)
    return Record(encode_key(transaction.transactional_id), value, (), transaction.update_ms)


def tombstone(transactional_id: str, now_ms: int) -> Record:
    """The id has expired."""
    return Record(encode_key(transactional_id), None, (), now_ms)


def encode_key(transactional_id: str) -> bytes:
    writer = Writer()
    writer.int16(KEY_VERSION)
    writer.string(transactional_id)
    return bytes(writer.data)


def decode_key(key: bytes) -> str | None:
    """The transactional id; None for a key of a kind that this version does not know."""
    reader = Reader(memoryview(key))
    return reader.string() if reader.int16() == KEY_VERSION else None


def encode_value(transaction: Transaction) -> bytes:
    writer = Writer(flexible=True)
    writer.int16(VALUE_VERSION)
    writer.int64(transaction.producer_id)
    writer.int16(transaction.producer_epoch)
    writer.int32(transaction.timeout_ms)
    writer.int8(transaction.state)
    _write_partitions(writer, transaction)
    writer.int64(transaction.update_ms)
    writer.int64(transaction.start_ms)
    writer.tags(_tags(transaction))
    return bytes(writer.data)


def _write_partitions(writer: Writer, transaction: Transaction) -> None:
    if transaction.state is State.EMPTY:
        writer.array(-1)
        return
    topics = by_topic(transaction.partitions)
    writer.array(len(topics))
    for topic, indexes in topics.items():
        writer.string(topic)
        writer.int32_array(indexes)
        writer.tags()


def _tags(transaction: Transaction) -> dict[int, bytes]:
    """Fields with their default are left out."""
    tags = {}
    if transaction.previous_producer_id != NO_PRODUCER_ID:
        tags[_PREVIOUS_PRODUCER_ID] = transaction.previous_producer_id.to_bytes(8, "big", signed=True)
    if transaction.next_producer_id != NO_PRODUCER_ID:
        tags[_NEXT_PRODUCER_ID] = transaction.next_producer_id.to_bytes(8, "big", signed=True)
    if transaction.version != CLASSIC:
        tags[_CLIENT_VERSION] = transaction.version.to_bytes(2, "big", signed=True)
    return tags


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """Versions 0 and 1; later ones may only add tagged fields (KIP-915), which are skipped."""
    reader = Reader(memoryview(value))
    reader.flexible = reader.int16() >= FIRST_FLEXIBLE
    producer_id, producer_epoch = reader.int64(), reader.int16()
    timeout_ms, state = reader.int32(), State(reader.int8())
    partitions = frozenset(_read_partitions(reader))
    update_ms, start_ms = reader.int64(), reader.int64()
    tags = {tag: int.from_bytes(data, "big", signed=True) for tag, data in reader.tags().items()}
    return Transaction(
        transactional_id,
        producer_id,
        producer_epoch,
        timeout_ms,
        state,
        partitions,
        start_ms,
        update_ms,
        tags.get(_PREVIOUS_PRODUCER_ID, NO_PRODUCER_ID),
        tags.get(_NEXT_PRODUCER_ID, NO_PRODUCER_ID),
        tags.get(_CLIENT_VERSION, CLASSIC),
    )


def _read_partitions(reader: Reader) -> Iterable[TopicPartition]:
    for _ in range(max(reader.nullable_array(), 0)):
        topic = reader.string()
        yield from [TopicPartition(topic, index) for index in reader.int32_array()]
        reader.tags()


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Sorted, so that equal sets are equal bytes."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics
