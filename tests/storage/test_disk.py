"""The machine's disk: short writes, failing writes, and what a sync that failed once says ever after."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
from pathlib import Path

import pytest

from penstock.storage import disk
from penstock.storage.disk import OsDisk
from penstock.storage.slice import FileSlice


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "file")


def test_appends_follow_each_other_and_can_be_read(path: str) -> None:
    file = OsDisk().create(path)
    assert [file.append(b"abc"), file.append(memoryview(b"defg"))] == [0, 3]
    assert (file.size, file.read(1, 4), file.read(5, 100)) == (7, b"bcde", b"fg")


def test_an_opened_file_goes_on_at_its_end(path: str) -> None:
    OsDisk().create(path).append(b"abc")
    file = OsDisk().open(path)
    assert file.append(b"d") == 3
    assert OsDisk().read_bytes(path) == b"abcd"


def test_creating_empties_what_was_there(path: str) -> None:
    OsDisk().create(path).append(b"abc")
    assert OsDisk().create(path).size == 0


def test_a_short_write_is_continued(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(disk, "write", lambda *call: os.pwrite(*call))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, bytes(data)[:3], position))
    file = OsDisk().create(path)
    file.append(b"0123456789")
    assert (file.size, OsDisk().read_bytes(path)) == (10, b"0123456789")


def test_a_write_that_fails_halfway_leaves_the_file_as_it_was(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsDisk().create(path)
    file.append(b"before")
    real = os.pwrite
    monkeypatch.setattr(disk, "write", lambda *call: os.pwrite(*call))
    written: list[int] = []

    def full_after_three_bytes(fd: int, data: bytes, position: int) -> int:
        if written:
            raise OSError(errno.ENOSPC, "full")
        written.append(real(fd, bytes(data)[:3], position))
        return written[0]

    monkeypatch.setattr(os, "pwrite", full_after_three_bytes)
    with pytest.raises(OSError, match="full"):
        file.append(b"lost")
    monkeypatch.undo()
    assert (file.size, OsDisk().read_bytes(path)) == (6, b"before")
    file.append(b", after")
    assert OsDisk().read_bytes(path) == b"before, after"


def test_short_reads_are_continued(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsDisk().create(path)
    file.append(b"0123456789")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, position: real(fd, min(size, 3), position))
    assert file.read(0, 8) == b"01234567"


def test_a_sync_that_failed_once_never_succeeds_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsDisk().create(path)
    fd = file.fileno()
    os.close(fd)
    with pytest.raises(OSError, match="Bad file"):
        file.sync()
    replacement = os.open(path, os.O_RDWR)
    assert replacement == fd
    with pytest.raises(OSError, match="Bad file"):
        file.sync()


def test_a_file_closes_itself_with_its_last_reference(path: str) -> None:
    file = OsDisk().create(path)
    assert path in open_paths()
    del file
    gc.collect()
    assert path not in open_paths()


def open_paths() -> set[str]:
    """A descriptor's number says nothing: another thread may have been given it meanwhile."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return found


def test_a_slice_keeps_a_removed_file_readable(path: str) -> None:
    file = OsDisk().create(path)
    file.append(b"0123456789")
    piece = FileSlice(file, 2, 5)
    del file
    OsDisk().remove(path)
    assert not OsDisk().exists(path)
    assert piece.read() == b"23456"


def test_an_atomic_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    disk, path = OsDisk(), str(tmp_path / "checkpoint")
    disk.write_atomic(path, b"one")
    disk.write_atomic(path, b"two")
    assert disk.read_bytes(path) == b"two"
    assert disk.list_dir(str(tmp_path)) == ["checkpoint"]


def test_directories_are_made_with_their_parents_and_removed_with_their_contents(tmp_path: Path) -> None:
    disk, path = OsDisk(), str(tmp_path / "a" / "b")
    disk.make_dir(path)
    disk.make_dir(path)
    disk.create(os.path.join(path, "file"))
    assert disk.is_dir(path)
    disk.remove_tree(str(tmp_path / "a"))
    disk.remove_tree(str(tmp_path / "a"))
    assert disk.list_dir(str(tmp_path)) == []


def test_a_locked_file_is_refused_to_others_until_it_is_closed(path: str) -> None:
    held = OsDisk().lock(path)
    with pytest.raises(BlockingIOError):
        OsDisk().lock(path)
    held.close()
    OsDisk().lock(path)
