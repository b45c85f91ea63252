"""Dead letters that are sent again, with a topic that is a list: none is passed over, none comes twice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.connect.worker import redrive


class Letter(SimpleNamespace):
    def __init__(self, offset: int) -> None:
        super().__init__()
        self._offset = offset

    def error(self) -> None:
        return None

    def offset(self) -> int:
        return self._offset

    def partition(self) -> int:
        return 0

    def value(self) -> bytes:
        return b"%d" % self._offset

    def key(self) -> None:
        return None

    def headers(self) -> list[tuple[str, bytes]]:
        return [("__connect.errors.topic", b"home"), ("mine", b"1")]


class Log:
    """Consumer and producer at once."""

    def __init__(self, offsets: list[int]) -> None:
        self._left = [Letter(each) for each in offsets]
        self._at = 0
        self.sent: list[Any] = []
        self.committed = -1

    def consume(self, most: int, _seconds: float) -> list[Letter]:
        found, self._left = self._left[:most], self._left[most:]
        self._at = found[-1].offset() + 1 if found else self._at
        return found

    def assignment(self) -> list[Any]:
        return []

    def position(self, _places: Any) -> list[Any]:
        return [SimpleNamespace(partition=0, offset=self._at)]

    def consumer_group_metadata(self) -> None:
        return None

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, _seconds: float) -> None: ...

    def produce(self, topic: str, value: bytes, _key: None, headers: Any) -> None:
        self.sent.append((topic, value, headers))

    def send_offsets_to_transaction(self, places: list[Any], _metadata: Any, _seconds: float) -> None:
        self.committed = places[0].offset


def test_letters_that_come_meanwhile_are_left_for_the_next_time() -> None:
    log = Log([0, 1, 2, 3])
    assert redrive._sent(log, log, {0: 2}, {}) == 2
    assert log.sent == [("home", b"0", [("mine", b"1")]), ("home", b"1", [("mine", b"1")])]
    assert log.committed == 2


def test_markers_at_the_end_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrive, "AT_ONCE", 1)
    log = Log([0, 1])
    assert redrive._sent(log, log, {0: 3}, {}) == 2
    assert log.committed == 2
