"""Files of a task's state: what was saved is loaded, and nothing that was not committed."""

from __future__ import annotations

from pathlib import Path

from penstock.kernels.cells import Cell, Entry
from penstock.plan.task import Snapshot
from penstock.spark.host.state_files import MOST_DELTAS, StateFiles


def state(*entries: Entry, stream_time: int = 0) -> Snapshot:
    return Snapshot({"s": list(entries)}, {"s": {"observed": 3}}, stream_time, {("t", 0): 7})


def rows(saved: list[Snapshot] | None) -> dict[bytes, Cell | None]:
    assert saved is not None
    return {key: cell for snapshot in saved for key, cell in snapshot.stores["s"]}


def token(step: int) -> str:
    return "a"


ONE, TWO = Cell(b"1", 5), Cell(b"2", 6)


def test_a_state_is_a_snapshot_and_the_changes_since(tmp_path: Path) -> None:
    files = StateFiles(tmp_path / "0_0")
    files.save(0, "a", state(), lambda: state((b"x", ONE), (b"y", ONE)), token)
    files.save(1, "a", state((b"x", None), (b"y", TWO), stream_time=9), state, token)
    saved = files.load(1, token)
    assert rows(saved) == {b"x": None, b"y": TWO}
    assert saved is not None
    assert saved[-1].stream_time == 9
    assert saved[-1].marks == {"s": {"observed": 3}}
    assert saved[-1].partition_times == {("t", 0): 7}
    assert rows(files.load(1, token, after=0)) == {b"x": None, b"y": TWO}


def test_what_another_attempt_left_is_not_read(tmp_path: Path) -> None:
    files = StateFiles(tmp_path)
    files.save(0, "a", state(), lambda: state((b"x", ONE)), token)
    files.save(0, "zombie", state(), lambda: state((b"x", TWO)), token)
    assert rows(files.load(0, token)) == {b"x": ONE}
    assert files.load(1, token) is None
    assert files.load(0, {0: "other"}.get) is None


def test_a_broken_file_is_as_good_as_none(tmp_path: Path) -> None:
    files = StateFiles(tmp_path)
    files.save(0, "a", state(), lambda: state((b"x", ONE)), token)
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:-20])
    assert files.load(0, token) is None


def test_changes_are_bounded_and_old_files_go(tmp_path: Path) -> None:
    files = StateFiles(tmp_path)
    for step in range(3 * MOST_DELTAS):
        files.save(step, "a", state((b"x", ONE)), lambda: state((b"x", TWO)), token)
        assert files.load(step, token) is not None
    assert len(list(tmp_path.iterdir())) <= 2 * MOST_DELTAS


def test_a_snapshot_is_not_laid_over_what_a_worker_kept(tmp_path: Path) -> None:
    files = StateFiles(tmp_path)
    for step in range(MOST_DELTAS + 3):
        files.save(step, "a", state((b"x", None)), state, token)
    assert files.load(MOST_DELTAS + 2, token, after=MOST_DELTAS - 1) is None
