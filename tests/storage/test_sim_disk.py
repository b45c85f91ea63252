"""The simulator's disk: what a kill keeps, what a crash may take, and faults on demand."""

from __future__ import annotations

import errno

import pytest

from penstock.storage.disk import Disk
from penstock.storage.slice import FileSlice
from penstock.testing.disk import SimDisk
from tests.storage.builders import sim_disk

SEEDS = range(60)


def disk_with_directory(seed: int = 1) -> SimDisk:
    disk = sim_disk(seed)
    disk.make_dir("/data")
    return disk


def test_it_is_a_disk() -> None:
    disk: Disk = sim_disk()
    disk.make_dir("/a/b")
    file = disk.create("/a/b/file")
    assert [file.append(b"abc"), file.append(b"de")] == [0, 3]
    assert (file.size, file.read(1, 3), disk.size("/a/b/file")) == (5, b"bcd", 5)
    file.truncate(2)
    disk.rename("/a/b/file", "/a/b/other")
    assert (disk.read_bytes("/a/b/other"), disk.list_dir("/a/b"), disk.is_dir("/a/b")) == (
        b"ab",
        ["other"],
        True,
    )
    disk.remove_tree("/a")
    assert not disk.exists("/a/b/other")


def test_a_removed_file_stays_readable_through_its_slices() -> None:
    disk = disk_with_directory()
    file = disk.create("/data/file")
    file.append(b"0123")
    disk.remove("/data/file")
    assert FileSlice(file, 1, 2).read() == b"12"


def test_a_kill_keeps_everything_that_was_written() -> None:
    disk = disk_with_directory()
    disk.create("/data/file").append(b"abc")
    disk.kill()
    assert disk.read_bytes("/data/file") == b"abc"


def test_files_of_a_dead_process_cannot_be_used() -> None:
    disk = disk_with_directory()
    file = disk.create("/data/file")
    disk.kill()
    with pytest.raises(OSError, match="dead"):
        file.append(b"abc")


def test_what_was_synced_with_its_name_survives_every_crash() -> None:
    for seed in SEEDS:
        disk = disk_with_directory(seed)
        file = disk.create("/data/file")
        file.append(b"abc")
        file.sync()
        disk.sync_dir("/data")
        disk.crash()
        assert disk.read_bytes("/data/file") == b"abc"


def test_a_name_that_was_not_synced_may_be_lost_although_the_file_was() -> None:
    survived = set()
    for seed in SEEDS:
        disk = disk_with_directory(seed)
        file = disk.create("/data/file")
        file.append(b"abc")
        file.sync()
        disk.crash()
        survived.add(disk.exists("/data/file"))
    assert survived == {True, False}


def test_the_unsynced_tail_survives_whole_torn_or_not_at_all() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = disk_with_directory(seed)
        file = disk.create("/data/file")
        file.append(b"abc")
        file.sync()
        disk.sync_dir("/data")
        file.append(b"def")
        disk.crash()
        content = disk.read_bytes("/data/file")
        assert content.startswith(b"abc")
        outcomes.add(content if len(content) <= 6 else "garbage")
    assert {b"abc", b"abcd", b"abcde", b"abcdef", "garbage"} <= outcomes


def test_a_truncation_that_was_not_synced_may_be_undone() -> None:
    contents = set()
    for seed in SEEDS:
        disk = disk_with_directory(seed)
        file = disk.create("/data/file")
        file.append(b"abc")
        file.sync()
        disk.sync_dir("/data")
        file.truncate(1)
        disk.crash()
        contents.add(disk.read_bytes("/data/file"))
    assert contents == {b"a", b"abc"}


def test_an_atomic_write_is_seen_whole_after_every_crash() -> None:
    for seed in SEEDS:
        disk = disk_with_directory(seed)
        disk.write_atomic("/data/file", b"old")
        disk.write_atomic("/data/file", b"new")
        disk.crash()
        assert disk.read_bytes("/data/file") == b"new"


def test_a_rename_is_seen_under_one_of_its_names() -> None:
    names = set()
    for seed in SEEDS:
        disk = disk_with_directory(seed)
        disk.write_atomic("/data/old", b"abc")
        disk.rename("/data/old", "/data/new")
        disk.crash()
        (name,) = disk.list_dir("/data")
        names.add(name)
    assert names == {"old", "new"}


def test_the_same_seed_has_the_same_crash() -> None:
    def run(seed: int) -> list[bytes]:
        disk = disk_with_directory(seed)
        contents = []
        for _ in range(5):
            disk.create("/data/file").append(b"x" * 50)
            disk.crash()
            contents.append(disk.read_bytes("/data/file") if disk.exists("/data/file") else b"gone")
        return contents

    assert run(3) == run(3)
    assert len({tuple(run(seed)) for seed in range(10)}) > 5


def test_the_next_write_fails_once_and_changes_nothing() -> None:
    disk = disk_with_directory()
    file = disk.create("/data/file")
    disk.fail_next("write", OSError(errno.ENOSPC, "full"), "file")
    with pytest.raises(OSError, match="full"):
        file.append(b"abc")
    assert (file.size, file.append(b"de")) == (0, 0)


def test_a_sync_that_failed_once_never_succeeds_on_that_file_again() -> None:
    disk = disk_with_directory()
    file = disk.create("/data/file")
    disk.fail_next("sync", OSError(errno.EIO, "bad block"))
    for _ in range(2):
        with pytest.raises(OSError, match="bad block"):
            file.sync()


def test_there_is_no_descriptor() -> None:
    with pytest.raises(OSError, match="no descriptor"):
        disk_with_directory().create("/data/file").fileno()


def test_a_lock_is_held_until_it_is_closed_or_its_process_dies() -> None:
    disk = disk_with_directory()
    disk.lock("/data/.lock").close()
    disk.lock("/data/.lock")
    with pytest.raises(BlockingIOError):
        disk.lock("/data/.lock")
    disk.kill()
    disk.lock("/data/.lock")
