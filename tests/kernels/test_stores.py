"""Stores: order, ranges, versions, expiry; and that their state can be taken and loaded."""

from __future__ import annotations

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.record import Stamped, Windowed
from penstock.kernels.serdes import StringSerde
from penstock.kernels.session_store import SessionStore
from penstock.kernels.stores import KeyValueStore, VersionedStore
from penstock.kernels.window_store import SMALLEST_SEGMENT_MS, WindowStore

S = StringSerde()


def key_values() -> KeyValueStore:
    return KeyValueStore(Cells("store"), S, S, TaskState())


def windows(cells: Cells, marks: dict[str, int], retention_ms: int = 100) -> WindowStore:
    return WindowStore(cells, S, S, TaskState(), marks, size_ms=10, retention_ms=retention_ms)


def test_pairs_come_in_the_order_of_their_keys_bytes() -> None:
    store = key_values()
    for key in ("b", "a", "c", "ab"):
        store.put(key, key.upper())
    assert list(store.all()) == [("a", "A"), ("ab", "AB"), ("b", "B"), ("c", "C")]
    assert [key for key, _ in store.range("ab", "b")] == ["ab", "b"]
    assert [key for key, _ in store.all(reverse=True)] == ["c", "b", "ab", "a"]
    assert [key for key, _ in store.prefix_scan(b"a")] == ["a", "ab"]


def test_a_key_can_be_set_once_and_deleted() -> None:
    store = key_values()
    assert store.put_if_absent("k", "1") is None
    assert store.put_if_absent("k", "2") == "1"
    assert store.delete("k") == "1"
    assert store.get("k") is None


def test_a_store_may_change_while_it_is_scanned() -> None:
    store = key_values()
    for key in "abc":
        store.put(key, key)
    seen = []
    for key, _ in store.all():
        seen.append(key)
        store.delete("b")
        store.put("d", "d")
    assert seen == ["a", "c"]


def test_a_versioned_store_knows_what_held_at_a_time() -> None:
    store = VersionedStore(Cells("store"), S, S, TaskState(), 100, {})
    assert store.put("k", "old", 10) is True
    assert store.put("k", "new", 30) is True
    assert store.put("k", "between", 20) is False
    assert store.put("k", None, 40) is True
    assert [store.get_as_of("k", time) for time in (5, 10, 25, 39, 40)] == [
        None,
        Stamped("old", 10),
        Stamped("between", 20),
        Stamped("new", 30),
        None,
    ]
    assert store.get("k") is None
    assert store.put("k", "far", 1000) is True
    assert store.put("k", "too late", 800) is None
    assert store.get_as_of("k", 25) is None


def test_a_changelog_is_told_which_versions_are_gone_for_good() -> None:
    told: dict[bytes, bytes | None] = {}
    cells = Cells("store", lambda name, key, value, at: told.__setitem__(key, value))
    store = VersionedStore(cells, S, S, TaskState(), 100, {})
    for at in range(0, 10_000, 10):
        store.put("k", str(at), at)
    store.put("gone", "v", 9_800)
    store.put("gone", None, 9_801)
    store.put("gone", None, 10_000)
    kept = {key: value for key, value in told.items() if value is not None}
    assert kept == {key: cell.value for key, cell in cells.scan()}
    assert len(kept) == 11 + 1
    copy = VersionedStore(Cells("store"), S, S, TaskState(), 100, {})
    for key, value in told.items():  # tombstones have the time of day in a changelog
        copy.restore(key, value, 10**12 if value is None else 10_000)
    assert copy.get("k") == "9990"


def test_windows_of_a_key_are_not_those_of_a_longer_key() -> None:
    store = windows(Cells("store"), {})
    store.put("k", "1", 10)
    store.put("k" + "\0" * 8, "2", 10)
    store.put("k", "3", 20)
    assert [(start, row.value) for start, row in store.fetch_range("k", 0, 99)] == [(10, "1"), (20, "3")]


def test_what_expired_is_not_read_and_soon_not_kept() -> None:
    cells = Cells("store")
    store = windows(cells, {})
    store.put("k", "1", 0)
    store.put("k", "2", 100)
    assert store.fetch("k", 0) is None
    assert store.fetch("k", 100) == "2"
    assert len(cells) == 2
    store.put("k", "3", 2 * SMALLEST_SEGMENT_MS + 100)
    assert len(cells) == 1
    store.put("k", "late", 50)
    assert len(cells) == 1


def test_sessions_are_found_by_the_time_that_they_touch() -> None:
    store = SessionStore(Cells("store"), S, S, TaskState(), {}, retention_ms=1000)
    for start, end in ((0, 5), (10, 12), (30, 30)):
        store.put(Windowed("k", start, end), f"{start}")
    assert [value for _, value in store.find_sessions("k", 5, 12)] == ["0", "10"]
    assert [value for _, value in store.find_sessions("k", 6, 9)] == []
    assert store.fetch_session("k", 30, 30) == "30"
    store.remove(Windowed("k", 30, 30))
    assert [session for session, _ in store.fetch("k")] == [Windowed("k", 0, 5), Windowed("k", 10, 12)]


def test_the_changes_of_a_store_make_the_same_store_elsewhere() -> None:
    cells, marks = Cells("store"), dict[str, int]()
    store = windows(cells, marks)
    store.put("k", "1", 10)
    base = cells.snapshot()
    cells.take_changes()
    store.put("m", "2", 20)
    store.put("k", None, 10)
    delta = cells.take_changes()
    assert cells.take_changes() == []
    other = Cells("store")
    other.load(base)
    other.load(delta)
    again = windows(other, dict(marks))
    again.loaded()
    assert list(again.all()) == list(store.all()) == [(Windowed("m", 20, 30), "2")]
