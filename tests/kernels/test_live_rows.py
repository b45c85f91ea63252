"""Rows that are values until somebody else looks."""

from __future__ import annotations

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.serdes import LongSerde, StringSerde
from penstock.kernels.stores import KeyValueStore
from penstock.kernels.window_store import WindowStore, suffix


class Counted(LongSerde):
    """Counts how often a value becomes bytes."""

    written = 0

    def serialize(self, topic: str, value: int) -> bytes:
        Counted.written += 1
        return super().serialize(topic, value)


def test_a_row_that_changes_often_becomes_bytes_once() -> None:
    Counted.written = 0
    cells = Cells("store")
    store = KeyValueStore(cells, StringSerde(), Counted(), TaskState())
    for number in range(100):
        row = store.held(b"k")
        store.hold(b"k", number if row is None else row[0] + number, number)
    assert store.held(b"k") == (4950, 99)
    assert Counted.written == 0
    assert [(key, cell and cell.value[-2:]) for key, cell in cells.take_changes()] == [(b"k", b"\x13\x56")]
    assert Counted.written == 1


def test_others_see_it_at_once() -> None:
    store = KeyValueStore(Cells("store"), StringSerde(), LongSerde(), TaskState())
    store.hold(b"a", 1, 5)
    store.hold(b"b", 2, 6)
    assert store.get("a") == 1
    assert list(store.all()) == [("a", 1), ("b", 2)]
    store.hold(b"a", None, 7)
    assert store.held(b"a") is None
    assert store.get("a") is None
    store.hold(b"b", 3, 8)
    store.put("b", 4, 9)
    assert store.held(b"b") == (4, 9)
    assert store.approximate_num_entries() == 1


def test_a_window_that_expires_within_the_step_is_not_kept() -> None:
    cells = Cells("store")
    store = WindowStore(cells, StringSerde(), LongSerde(), TaskState(), {}, size_ms=10, retention_ms=100)
    store.hold(b"k" + suffix(0, 0), 1, 0, 0)
    far = 10_000_000
    store.hold(b"k" + suffix(far, 0), 2, far, far)
    assert store.held(b"k" + suffix(0, 0), 0) is None
    assert [value for _, value in store.all()] == [2]
    assert [key for key, cell in cells.take_changes() if cell is not None] == [b"k" + suffix(far, 0)]


def test_a_store_whose_puts_are_told_holds_nothing_back() -> None:
    store = KeyValueStore(Cells("store", lambda *put: None), StringSerde(), LongSerde(), TaskState())
    assert store.live is None
