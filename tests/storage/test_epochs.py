"""Leader epochs: which epoch wrote an offset, where an epoch ended, and Kafka's file of it."""

from __future__ import annotations

import errno
from random import Random

import pytest

from penstock.storage.epochs import NO_EPOCH, NO_OFFSET, UNSYNCED, LeaderEpochs
from penstock.storage.errors import Corruption
from penstock.testing.disk import SimDisk
from tests.storage.builders import sim_disk

PATH = "/data/leader-epoch-checkpoint"


@pytest.fixture
def disk() -> SimDisk:
    disk = sim_disk()
    disk.make_dir("/data")
    return disk


@pytest.fixture
def epochs(disk: SimDisk) -> LeaderEpochs:
    epochs = LeaderEpochs.load(disk, PATH)
    for epoch, start in ((1, 0), (3, 10), (4, 25)):
        epochs.assign(epoch, start)
    return epochs


def test_each_offset_has_the_epoch_that_wrote_it(epochs: LeaderEpochs) -> None:
    assert [epochs.epoch_of(offset) for offset in (0, 9, 10, 24, 25, 99)] == [1, 1, 3, 3, 4, 4]


def test_an_epoch_ends_where_the_next_begins_and_the_latest_at_the_end_of_the_log(
    epochs: LeaderEpochs,
) -> None:
    assert epochs.end_offset(1, 40) == (1, 10)
    assert epochs.end_offset(3, 40) == (3, 25)
    assert epochs.end_offset(4, 40) == (4, 40)


def test_an_epoch_that_wrote_nothing_is_answered_with_the_one_before_it(epochs: LeaderEpochs) -> None:
    assert epochs.end_offset(2, 40) == (1, 10)


def test_an_epoch_before_the_first_ends_where_the_first_begins(epochs: LeaderEpochs) -> None:
    assert epochs.end_offset(0, 40) == (0, 0)


def test_nobody_knows_where_a_future_epoch_ends(epochs: LeaderEpochs) -> None:
    assert epochs.end_offset(5, 40) == (NO_EPOCH, NO_OFFSET)
    assert epochs.end_offset(NO_EPOCH, 40) == (NO_EPOCH, NO_OFFSET)


def test_a_known_or_older_epoch_is_not_assigned_again(epochs: LeaderEpochs) -> None:
    epochs.assign(4, 30)
    epochs.assign(2, 31)
    assert epochs.entries() == [(1, 0), (3, 10), (4, 25)]


def test_an_epoch_that_wrote_nothing_gives_way_to_the_next(epochs: LeaderEpochs) -> None:
    epochs.assign(5, 25)
    assert epochs.entries() == [(1, 0), (3, 10), (5, 25)]


def test_truncation_forgets_epochs_that_began_behind_it(epochs: LeaderEpochs) -> None:
    epochs.truncate_to(25)
    assert (epochs.entries(), epochs.latest) == ([(1, 0), (3, 10)], 3)
    epochs.truncate_to(0)
    assert (epochs.entries(), epochs.latest) == ([], NO_EPOCH)


def test_a_later_start_of_the_log_forgets_epochs_that_ended_before_it(epochs: LeaderEpochs) -> None:
    epochs.advance_start(12)
    assert epochs.entries() == [(3, 12), (4, 25)]
    epochs.advance_start(12)
    assert epochs.entries() == [(3, 12), (4, 25)]


def test_the_file_has_kafkas_format_and_survives_a_crash_once_synced(
    disk: SimDisk, epochs: LeaderEpochs
) -> None:
    make_durable(disk, epochs)
    disk.crash()
    assert disk.read_bytes(PATH) == b"0\n3\n1 0\n3 10\n4 25\n"
    assert LeaderEpochs.load(disk, PATH).entries() == epochs.entries()


def test_an_epoch_survives_the_death_of_the_process_before_any_sync(
    disk: SimDisk, epochs: LeaderEpochs
) -> None:
    disk.fail_next("sync", OSError("nobody syncs"))
    epochs.assign(7, 50)
    disk.kill()
    assert LeaderEpochs.load(disk, PATH).entries() == [(1, 0), (3, 10), (4, 25), (7, 50)]
    assert not disk.exists(PATH + UNSYNCED)


@pytest.mark.parametrize("seed", range(40))
def test_a_power_cut_takes_epochs_that_were_never_synced_and_no_others(seed: int) -> None:
    disk = SimDisk(Random(seed))
    disk.make_dir("/data")
    epochs = LeaderEpochs.load(disk, PATH)
    epochs.assign(1, 0)
    make_durable(disk, epochs)
    known = [[(1, 0)]]
    for epoch, start in ((3, 10), (4, 25)):
        epochs.assign(epoch, start)
        known.append(epochs.entries())
    disk.crash()
    found = LeaderEpochs.load(disk, PATH)
    assert found.entries() in known
    make_durable(disk, found)
    disk.crash()
    assert LeaderEpochs.load(disk, PATH).entries() == found.entries()


def test_what_a_power_cut_left_of_the_second_file_is_no_corruption(
    disk: SimDisk, epochs: LeaderEpochs
) -> None:
    make_durable(disk, epochs)
    for garbage in (b"", b"0\n4\n1 0\n3 1", bytes(20)):
        disk.write_atomic(PATH + UNSYNCED, garbage)
        assert LeaderEpochs.load(disk, PATH).entries() == [(1, 0), (3, 10), (4, 25)]
        assert not disk.exists(PATH + UNSYNCED)


def test_a_second_file_that_came_back_is_older_than_the_first(disk: SimDisk, epochs: LeaderEpochs) -> None:
    older = disk.read_bytes(PATH + UNSYNCED)
    epochs.assign(5, 40)
    epochs.sync()
    disk.write_atomic(PATH + UNSYNCED, older)
    assert LeaderEpochs.load(disk, PATH).latest == 5


def test_a_full_disk_does_not_keep_epochs_from_being_synced(disk: SimDisk, epochs: LeaderEpochs) -> None:
    disk.fail_next("write", OSError(errno.ENOSPC, "full"))
    make_durable(disk, epochs)
    disk.crash()
    assert LeaderEpochs.load(disk, PATH).entries() == epochs.entries()


def test_what_a_cut_keeps_is_durable_whether_or_not_it_was_synced(
    disk: SimDisk, epochs: LeaderEpochs
) -> None:
    """What it took may come back with the second file; the log, which was cut first, takes it again."""
    epochs.truncate_to(25)
    disk.crash()
    found = LeaderEpochs.load(disk, PATH)
    assert found.entries()[:2] == [(1, 0), (3, 10)]
    found.truncate_to(25)
    assert found.entries() == [(1, 0), (3, 10)]


def test_an_epoch_that_could_not_be_written_is_not_known(disk: SimDisk, epochs: LeaderEpochs) -> None:
    disk.fail_next("write", OSError("broken"))
    with pytest.raises(OSError, match="broken"):
        epochs.assign(9, 50)
    assert epochs.latest == 4


def make_durable(disk: SimDisk, epochs: LeaderEpochs) -> None:
    epochs.sync()
    disk.sync_dir("/data")


@pytest.mark.parametrize(
    "text",
    ["", "0\n", "1\n0\n", "0\n2\n1 0\n", "0\n1\nx 0\n", "0\n2\n3 10\n1 0\n", "0\n1\n1\n", "0\n1\n1 0 0\n"],
)
def test_a_damaged_file_is_corruption(disk: SimDisk, text: str) -> None:
    disk.write_atomic(PATH, text.encode())
    with pytest.raises(Corruption):
        LeaderEpochs.load(disk, PATH)
