"""Both twins make the same records of the same messages, and leave the same ones to the long way."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import pytest
from confluent_kafka import cimpl

from penstock.client.api import _taken_pure, taken
from penstock.client.api.records import ConsumerRecord, ConsumerRecords

TWINS = [_taken_pure, taken]


class Message:
    def __init__(self, topic: str, partition: int, offset: int, error: Any = None, kind: int = 1) -> None:
        self._at = topic, partition, offset
        self._error, self._kind = error, kind

    def error(self) -> Any:
        return self._error

    def topic(self) -> str:
        return self._at[0]

    def partition(self) -> int:
        return self._at[1]

    def offset(self) -> int:
        return self._at[2]

    def timestamp(self) -> tuple[int, int]:
        return self._kind, 7

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes | None:
        return b"v"

    def headers(self) -> list[tuple[str, bytes]] | None:
        return [("h", b"1")] if self._at[2] == 1 else None

    def leader_epoch(self) -> int | None:
        return 3


@pytest.mark.parametrize("twin", TWINS)
def test_messages_become_records(twin: Any) -> None:
    records = twin.plain_records([Message("t", 0, 1), Message("t", 0, 3), Message("u", 0, 2, kind=0)])
    assert records[0] == ConsumerRecord("t", 0, 1, 7, None, b"v", [("h", b"1")], 3, "CreateTime")
    assert records[2] == ConsumerRecord("u", 0, 2, -1, None, b"v", (), 3, None)
    assert all(type(record) is ConsumerRecord for record in records)
    assert twin.plain_records([]) == []


@pytest.mark.parametrize("twin", TWINS)
def test_each_partition_has_its_last_message(twin: Any) -> None:
    first = [Message("t", 0, 1), Message("t", 1, 5), Message("t", 0, 2), Message("u", 0, 1)]
    assert set(twin.last_messages(first)) == set(first[1:])
    assert twin.last_messages([]) == []


def test_the_native_twin_reads_the_librarys_own_messages_as_the_pure_one_does() -> None:
    messages = [
        cimpl.Message(topic="t", partition=2, offset=5, key=b"k", value=b"v", headers=[("h", b"1")],
                      timestamp=(1, 99), leader_epoch=4),
        cimpl.Message(topic="t", partition=2, offset=70_000_000_000, timestamp=(0, 0)),
        cimpl.Message(topic="u", partition=0, offset=0, value=b"", timestamp=(2, 3)),
    ]  # fmt: skip
    assert taken.plain_records(messages) == _taken_pure.plain_records(messages)
    assert taken.last_messages(messages) == _taken_pure.last_messages(messages) == messages[1:]
    assert taken.last_messages([*messages, messages[0]]) is None
    assert pickle.loads(pickle.dumps(taken.plain_records(messages)[0])).headers == [("h", b"1")]


def test_records_that_are_kept_are_intact_after_a_collection() -> None:
    """The collector does not walk records without headers: it must neither free nor miss them."""
    messages = [
        cimpl.Message(topic="t", partition=0, offset=number, value=b"%d" % number, timestamp=(1, number))
        for number in range(2000)
    ]
    kept = [record for message in messages for record in taken.plain_records([message])]
    del messages
    gc.collect()
    assert [(record.offset, record.value) for record in kept] == [(n, b"%d" % n) for n in range(2000)]
    ring: list[Any] = [kept[0]._replace(value=None)]
    ring.append(ring)
    del ring, kept
    gc.collect()


def test_records_are_made_when_somebody_looks() -> None:
    made: list[Any] = []

    def make(messages: Any) -> Any:
        made.append(messages)
        return taken.plain_records(messages)

    records = ConsumerRecords([Message("t", 0, 1), Message("t", 1, 3)], make)
    assert (len(records), records.is_empty(), records.count(), bool(records)) == (2, False, 2, True)
    assert not made
    assert [each.offset for each in records] == [1, 3]
    assert records[1].offset == 3
    assert records.partitions() == {("t", 0), ("t", 1)}
    assert len(made) == 1


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(
    "messages",
    [
        [Message("t", 0, 1), Message("t", 0, 1)],
        [Message("t", 0, 2), Message("t", 0, 1)],
        [Message("t", 0, 2), Message("t", 1, 1), Message("t", 0, 2)],
        [Message("t", 0, 1), Message("t", 0, 2, error=object())],
    ],
    ids=["twice", "back", "mixed", "error"],
)
def test_what_is_not_plain_is_left_to_the_long_way(twin: Any, messages: list[Message]) -> None:
    assert twin.last_messages(messages) is None
