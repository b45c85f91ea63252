"""Joins of two tables where a row of the first names the key of a row of the second.

The first table's rows subscribe at the second's key, through a topic partitioned by it; the second's rows
answer through a topic partitioned by the first's key; an answer counts only if the row that asked is still
the same. What travels in these two topics is Penstock's own form; their names and the nodes are Kafka's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import Any, NamedTuple

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Function, Operation, Parents, value_of
from penstock.kernels.parts import join_parts, split_parts
from penstock.kernels.record import Change, Record, Stamped, latest
from penstock.kernels.serdes import Serde, from_bytes, to_bytes


class Instruction(IntEnum):
    """What the second table's side must do with a subscription, and what to answer."""

    DELETE = 0
    DELETE_AND_ANSWER = 1
    ANSWER_EVEN_WITHOUT_ROW = 2
    ANSWER_IF_ROW = 3


class Subscription(NamedTuple):
    hash: bytes | None  # of the row that asks; none if it is gone
    instruction: Instruction
    primary_key: Any


class Answer(NamedTuple):
    hash: bytes | None
    foreign_value: Any


@dataclass(frozen=True)
class SubscriptionSerde:
    primary_key: Serde[Any]

    def serialize(self, topic: str, value: Subscription) -> bytes:
        raw = to_bytes(self.primary_key, topic, value.primary_key)
        return join_parts(value.hash, bytes([value.instruction]), raw)

    def deserialize(self, topic: str, data: bytes) -> Subscription:
        digest, instruction, raw = split_parts(data)
        assert instruction is not None
        return Subscription(digest, Instruction(instruction[0]), from_bytes(self.primary_key, topic, raw))


@dataclass(frozen=True)
class AnswerSerde:
    foreign_value: Serde[Any]

    def serialize(self, topic: str, value: Answer) -> bytes:
        return join_parts(value.hash, to_bytes(self.foreign_value, topic, value.foreign_value))

    def deserialize(self, topic: str, data: bytes) -> Answer:
        digest, raw = split_parts(data)
        return Answer(digest, from_bytes(self.foreign_value, topic, raw))


@dataclass(frozen=True)
class CombinedKeySerde:
    """Foreign key first, with its length before it, so that all subscriptions of one lie together."""

    foreign_key: Serde[Any]
    primary_key: Serde[Any]

    def serialize(self, topic: str, value: tuple[Any, Any]) -> bytes:
        raw = self.prefix(topic, value[0])
        return raw + (to_bytes(self.primary_key, topic, value[1]) or b"")

    def prefix(self, topic: str, foreign_key: Any) -> bytes:
        raw = to_bytes(self.foreign_key, topic, foreign_key) or b""
        return len(raw).to_bytes(4, "big") + raw

    def deserialize(self, topic: str, data: bytes) -> tuple[Any, Any]:
        length = int.from_bytes(data[:4], "big")
        foreign = from_bytes(self.foreign_key, topic, data[4 : 4 + length])
        return foreign, from_bytes(self.primary_key, topic, data[4 + length :])


def row_hash(serde: Serde[Any], value: Any) -> bytes | None:
    raw = to_bytes(serde, "", value)
    return None if raw is None else blake2b(raw, digest_size=16).digest()


@dataclass(frozen=True)
class Subscribe(Operation):
    """A change of the first table becomes subscriptions at the foreign keys of its old and its new row."""

    extractor: Function  # (value) → foreign key
    value_serde: Serde[Any]
    left: bool = False

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        return tuple((parent, True) for parent in parents)

    def bind(self, context: Context) -> Process:
        def process(record: Record) -> None:
            if not record.value.is_latest:
                return
            digest = row_hash(self.value_serde, record.value.new)
            for foreign_key, instruction in self._instructions(record.value):
                subscription = Subscription(digest, instruction, record.key)
                context.forward(Record(foreign_key, subscription, record.timestamp, record.headers))

        return process

    def _instructions(self, change: Change) -> list[tuple[Any, Instruction]]:
        old = None if change.old is None else self.extractor(change.old)
        new = None if change.new is None else self.extractor(change.new)
        return self._left(change, old, new) if self.left else self._inner(old, new)

    def _left(self, change: Change, old: Any, new: Any) -> list[tuple[Any, Instruction]]:
        if change.old is None and change.new is None:
            return []
        subscriptions = [(new, Instruction.ANSWER_EVEN_WITHOUT_ROW)]  # a deleted row needs an answer as well
        if old is not None and old != new:
            subscriptions.insert(0, (old, Instruction.DELETE))
        return subscriptions

    def _inner(self, old: Any, new: Any) -> list[tuple[Any, Instruction]]:
        if old is None:
            return [] if new is None else [(new, Instruction.ANSWER_IF_ROW)]
        if new is None:
            return [(old, Instruction.DELETE_AND_ANSWER)]
        if old == new:
            return [(new, Instruction.ANSWER_IF_ROW)]
        return [(old, Instruction.DELETE), (new, Instruction.ANSWER_EVEN_WITHOUT_ROW)]


@dataclass(frozen=True)
class ReceiveSubscription(Operation):
    store: str

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def bind(self, context: Context) -> Process:
        store = context.stores[self.store]

        def process(record: Record) -> None:
            subscription: Subscription = record.value
            if record.key is None and subscription.instruction != Instruction.ANSWER_EVEN_WITHOUT_ROW:
                return
            key = (record.key, subscription.primary_key)
            if record.key is not None:
                gone = subscription.instruction in (Instruction.DELETE, Instruction.DELETE_AND_ANSWER)
                store.put(key, None if gone else subscription, record.timestamp)
            context.forward(record.with_key(key))

        return process


@dataclass(frozen=True)
class AnswerSubscription(Operation):
    """Looks up the second table's row for a new subscription."""

    table: str

    def tables_read(self) -> tuple[str, ...]:
        return (self.table,)

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        return ((self.table, True),)

    def bind(self, context: Context) -> Process:
        lookup = context.views[self.table]

        def process(record: Record) -> None:
            foreign_key, primary_key = record.key
            subscription: Subscription = record.value
            row: Stamped | None = None if foreign_key is None else lookup(foreign_key, None)
            if subscription.instruction == Instruction.DELETE:
                return
            if subscription.instruction == Instruction.ANSWER_IF_ROW and row is None:
                return
            gone = subscription.instruction == Instruction.DELETE_AND_ANSWER
            timestamp = record.timestamp if row is None else latest(record.timestamp, row.timestamp)
            answer = Answer(subscription.hash, None if gone else value_of(row))
            context.forward(Record(primary_key, answer, timestamp, record.headers))

        return process


@dataclass(frozen=True)
class AnswerChange(Operation):
    """A change of the second table becomes an answer to every subscription at its key."""

    store: str

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def bind(self, context: Context) -> Process:
        store = context.stores[self.store]

        def process(record: Record) -> None:
            if record.key is None or not record.value.is_latest:
                return
            prefix = store.combined_prefix(record.key)
            for (_, primary_key), subscription in list(store.prefix_scan(prefix)):
                answer = Answer(subscription.hash, record.value.new)
                context.forward(Record(primary_key, answer, record.timestamp, record.headers))

        return process


@dataclass(frozen=True)
class ResolveAnswer(Operation):
    """An answer is joined with the first table's row, if that is still the one that asked."""

    table: str
    joiner: Function  # (value, foreign value) → value
    value_serde: Serde[Any]
    left: bool = False

    def tables_read(self) -> tuple[str, ...]:
        return (self.table,)

    def bind(self, context: Context) -> Process:
        lookup = context.views[self.table]

        def process(record: Record) -> None:
            answer: Answer = record.value
            row: Stamped | None = lookup(record.key, None)
            if answer.hash != row_hash(self.value_serde, value_of(row)):
                return
            result = None
            if answer.foreign_value is not None or (self.left and row is not None):
                result = self.joiner(value_of(row), answer.foreign_value)
            context.forward(record.with_value(result))

        return process
