"""Both twins make the same records of the same messages, and leave the same ones to the long way."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.client.api import _taken_pure, taken
from penstock.client.api.records import ConsumerRecord

TWINS = [_taken_pure.plain_records, taken.plain_records]


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


@pytest.mark.parametrize("plain_records", TWINS)
def test_messages_become_records_and_each_partition_has_its_last(plain_records: Any) -> None:
    found = plain_records([Message("t", 0, 1), Message("t", 0, 3), Message("u", 0, 2, kind=0)])
    assert found is not None
    records, ends = found
    assert records[0] == ConsumerRecord("t", 0, 1, 7, None, b"v", [("h", b"1")], 3, "CreateTime")
    assert records[2] == ConsumerRecord("u", 0, 2, -1, None, b"v", (), 3, None)
    assert all(type(record) is ConsumerRecord for record in records)
    assert ends == [records[1], records[2]]
    assert plain_records([]) == ([], [])


@pytest.mark.parametrize("plain_records", TWINS)
@pytest.mark.parametrize(
    "messages",
    [
        [Message("t", 0, 1), Message("t", 0, 1)],
        [Message("t", 0, 2), Message("t", 0, 1)],
        [Message("t", 0, 1), Message("t", 1, 1), Message("t", 0, 2)],
        [Message("t", 0, 1), Message("t", 0, 2, error=object())],
    ],
    ids=["twice", "back", "mixed", "error"],
)
def test_what_is_not_plain_is_left_to_the_long_way(plain_records: Any, messages: list[Message]) -> None:
    assert plain_records(messages) is None
