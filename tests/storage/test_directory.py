"""A log directory: its lock, its marker, its checkpoints, and names that would leave it."""

from __future__ import annotations

import pytest

from penstock.storage.directory import LogDirectory, Offsets
from penstock.storage.errors import Corruption
from penstock.testing.disk import SimDisk
from tests.storage.builders import sim_disk

OFFSETS = {("orders", 0): Offsets(5, 7, 2), ("orders-eu", 11): Offsets(0, 0, 0)}


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


@pytest.fixture
def directory(disk: SimDisk) -> LogDirectory:
    directory = LogDirectory(disk, "/data")
    directory.acquire()
    return directory


def test_a_directory_is_made_and_belongs_to_one_process(disk: SimDisk, directory: LogDirectory) -> None:
    other = LogDirectory(disk, "/data")
    with pytest.raises(BlockingIOError):
        other.acquire()
    directory.release()
    other.acquire()


def test_the_clean_marker_is_good_for_one_start(disk: SimDisk, directory: LogDirectory) -> None:
    assert not directory.take_clean_marker()
    directory.mark_clean()
    disk.crash()
    assert directory.take_clean_marker()
    disk.crash()
    assert not directory.take_clean_marker()


def test_checkpoints_come_back(directory: LogDirectory) -> None:
    assert directory.read_checkpoints() == {}
    directory.write_checkpoints(OFFSETS)
    assert directory.read_checkpoints() == OFFSETS


def test_only_checkpoints_that_changed_are_written(disk: SimDisk, directory: LogDirectory) -> None:
    directory.write_checkpoints(OFFSETS)
    disk.fail_next("write", OSError("must not be written"))
    directory.write_checkpoints(OFFSETS)
    moved = {**OFFSETS, ("orders", 0): Offsets(5, 7, 3)}
    with pytest.raises(OSError, match="must not be written"):
        directory.write_checkpoints(moved)
    directory.write_checkpoints(moved)
    assert directory.read_checkpoints() == moved


def test_a_damaged_checkpoint_is_corruption(disk: SimDisk, directory: LogDirectory) -> None:
    directory.write_checkpoints(OFFSETS)
    disk.create("/data/recovery-point-offset-checkpoint").append(b"garbage")
    with pytest.raises(Corruption):
        directory.read_checkpoints()


def test_logs_and_leftovers_are_told_apart(disk: SimDisk, directory: LogDirectory) -> None:
    for name in ("orders-0", "a-b.c_d-12", "orders-0.1f-delete", "orders-", "orders-01", "lost+found", "x"):
        disk.make_dir(f"/data/{name}")
    disk.create("/data/file-3")
    assert directory.log_names() == [("a-b.c_d", 12), ("orders", 0)]
    assert directory.leftovers() == ["/data/orders-0.1f-delete"]


@pytest.mark.parametrize("topic", ["../x", "a/b", "", "..", ".", "x\x00", "ä", "a" * 250, "a\n", "-/.."])
def test_a_name_that_would_leave_the_directory_is_refused(directory: LogDirectory, topic: str) -> None:
    with pytest.raises(ValueError, match="no log may be called"):
        directory.log_path(topic, 0)


def test_a_negative_partition_is_refused(directory: LogDirectory) -> None:
    with pytest.raises(ValueError, match="no log may be called"):
        directory.log_path("orders", -1)


def test_the_first_failure_stands(directory: LogDirectory) -> None:
    first = directory.fail(OSError("first"))
    assert directory.fail(OSError("second")) is first
    assert directory.failure is first
