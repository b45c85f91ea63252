"""All logs of a broker: start, creation, deletion, housekeeping, clean and unclean ends, failing disks."""

from __future__ import annotations

import errno
from random import Random
from typing import Any

import pytest

from penstock.protocol.errors import KafkaError
from penstock.server.together import THREADS, in_threads
from penstock.storage.directory import UNKNOWN_BROKER_EPOCH
from penstock.storage.errors import ForeignDirectory, LogDirFailure
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.testing.disk import SimDisk
from tests.storage.builders import (
    NOW_MS,
    StillClock,
    append,
    append_many,
    settings,
    sim_disk,
    values,
)

ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
DIRS = ("/disk1", "/disk2")
SMALL = settings(segment_bytes=1000)


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


def start(
    disk: SimDisk, clock: StillClock | None = None, dirs: tuple[str, ...] = DIRS, **options: Any
) -> Logs:
    logs = Logs(disk, dirs, clock or StillClock(), random=Random(1), **options)
    logs.open_directories()
    logs.open_logs(lambda _: SMALL)
    return logs


def ends(logs: Logs) -> dict[tuple[str, int], int]:
    return {name: log.log_end_offset for name, log in logs.all().items()}


def of(logs: Logs, topic: str, partition: int) -> Log:
    log = logs.get(topic, partition)
    assert log is not None
    return log


class TestStarting:
    def test_new_directories_are_made_and_get_one_cluster_id(self, disk: SimDisk) -> None:
        cluster_id = start(disk).cluster_id
        for directory in DIRS:
            assert f"cluster.id={cluster_id}\nnode.id=1\n".encode() in disk.read_bytes(
                f"{directory}/meta.properties"
            )

    def test_the_cluster_id_stays(self, disk: SimDisk) -> None:
        logs = start(disk)
        logs.close()
        assert start(disk).cluster_id == logs.cluster_id

    def test_a_directory_of_another_node_or_cluster_is_refused(self, disk: SimDisk) -> None:
        start(disk).close()
        with pytest.raises(ForeignDirectory, match="belongs to node 1"):
            start(disk, node_id=2)
        with pytest.raises(ForeignDirectory, match="belongs to node 1"):
            start(disk, cluster_id="AAAAAAAAAAAAAAAAAAAAAA")

    def test_a_directory_in_use_is_refused(self, disk: SimDisk) -> None:
        start(disk)
        with pytest.raises(BlockingIOError):
            start(disk)

    def test_no_directory_is_no_broker(self, disk: SimDisk) -> None:
        with pytest.raises(ValueError, match="at least one"):
            start(disk, dirs=())

    def test_every_log_is_opened_again(self, disk: SimDisk) -> None:
        logs = start(disk)
        for partition in range(5):
            append_many(logs.create("orders", partition, ID, SMALL), partition)
        logs.close()
        assert ends(start(disk)) == {("orders", partition): partition for partition in range(5)}

    def test_logs_are_opened_and_closed_several_at_once(self, disk: SimDisk) -> None:
        logs, many = start(disk), 3 * THREADS
        for partition in range(many):
            append_many(logs.create("orders", partition, ID, SMALL), partition)
        disk.kill()
        logs = start(disk, together=in_threads)
        assert ends(logs) == {("orders", partition): partition for partition in range(many)}
        logs.close()
        disk.crash()
        assert ends(start(disk)) == {("orders", partition): partition for partition in range(many)}


class TestCreating:
    def test_a_new_log_goes_to_the_directory_with_the_fewest_partitions(self, disk: SimDisk) -> None:
        logs = start(disk)
        for partition in range(5):
            logs.create("orders", partition, ID, SMALL)
        counts = [sum(name.startswith("orders") for name in disk.list_dir(directory)) for directory in DIRS]
        assert sorted(counts) == [2, 3]

    def test_a_name_that_leaves_the_directory_is_refused(self, disk: SimDisk) -> None:
        with pytest.raises(ValueError, match="no log may be called"):
            start(disk).create("../orders", 0, ID, SMALL)

    def test_an_existing_log_is_given_with_its_new_settings(self, disk: SimDisk) -> None:
        logs = start(disk)
        log = logs.create("orders", 0, ID, SMALL)
        other = settings(segment_bytes=5000)
        assert logs.get_or_create("orders", 0, ID, other) is log
        assert log.settings is other

    def test_the_log_of_a_deleted_topic_of_the_same_name_goes(self, disk: SimDisk) -> None:
        logs = start(disk)
        append_many(logs.create("orders", 0, ID, SMALL), 3)
        logs.close()
        logs = start(disk)
        log = logs.get_or_create("orders", 0, OTHER_ID, SMALL)
        assert log.log_end_offset == 0
        logs.close()
        assert start(disk).get_or_create("orders", 0, OTHER_ID, SMALL).log_end_offset == 0

    def test_a_created_log_survives_a_crash(self, disk: SimDisk) -> None:
        start(disk).create("orders", 0, ID, SMALL)
        disk.crash()
        logs = start(disk)
        assert ends(logs) == {("orders", 0): 0}
        assert logs.get_or_create("orders", 0, ID, SMALL).log_end_offset == 0

    def test_a_creation_that_a_crash_interrupted_is_finished(self, disk: SimDisk) -> None:
        start(disk)
        disk.make_dir("/disk1/orders-0")
        disk.kill()
        logs = start(disk)
        append_many(logs.get_or_create("orders", 0, ID, SMALL), 2)
        logs.close()
        assert disk.exists("/disk1/orders-0/partition.metadata")
        assert ends(start(disk)) == {("orders", 0): 2}


class TestDeleting:
    def test_a_deleted_log_is_renamed_first_and_removed_by_the_housekeeper(self, disk: SimDisk) -> None:
        logs = start(disk, dirs=("/disk1",))
        append_many(logs.create("orders", 0, ID, SMALL), 3)
        logs.delete("orders", 0)
        (doomed,) = (name for name in disk.list_dir("/disk1") if name.startswith("orders"))
        assert doomed.startswith("orders-0.")
        assert doomed.endswith("-delete")
        logs.tick()
        assert not disk.exists(f"/disk1/{doomed}")
        assert logs.get("orders", 0) is None

    def test_a_log_on_its_way_out_does_not_come_back_after_a_crash(self, disk: SimDisk) -> None:
        logs = start(disk, dirs=("/disk1",))
        append_many(logs.create("orders", 0, ID, SMALL), 3)
        logs.delete("orders", 0)
        disk.crash()
        assert ends(start(disk, dirs=("/disk1",))) == {}
        assert not [name for name in disk.list_dir("/disk1") if name.startswith("orders")]

    def test_a_slice_of_a_deleted_log_stays_readable(self, disk: SimDisk) -> None:
        logs = start(disk)
        log = logs.create("orders", 0, ID, SMALL)
        append(log, b"a")
        piece = log.read(0, 1000)
        assert piece is not None
        before = piece.read()
        logs.delete("orders", 0)
        logs.tick()
        assert piece.read() == before

    def test_who_still_holds_a_deleted_log_does_no_harm_to_its_directory(self, disk: SimDisk) -> None:
        """A topic is deleted between a look at all logs and the flush of this one."""
        logs = start(disk, dirs=("/disk1",))
        log = logs.create("orders", 0, ID, SMALL)
        append_many(log, 30)
        assert len(log.sealed_segments()) > 1
        logs.delete("orders", 0)
        log.flush()
        assert log.expire() == 0
        log.truncate_to(1)
        log.truncate_to(0, anew=True)
        with pytest.raises(KafkaError, match="is closed"):
            append_many(log, 30)
        logs.tick()
        log.flush()
        assert log.directory.failure is None

    def test_the_name_is_free_at_once(self, disk: SimDisk) -> None:
        logs = start(disk)
        append_many(logs.create("orders", 0, ID, SMALL), 3)
        logs.delete("orders", 0)
        assert logs.create("orders", 0, OTHER_ID, SMALL).log_end_offset == 0

    def test_deleting_what_is_not_there_is_nothing(self, disk: SimDisk) -> None:
        start(disk).delete("orders", 0)


class TestHousekeeping:
    def test_rolled_segments_become_durable(self, disk: SimDisk, clock: StillClock) -> None:
        logs = start(disk, clock)
        log = logs.create("orders", 0, ID, SMALL)
        append_many(log, 7, size=300)
        logs.tick()
        assert log.recovery_point == 6

    def test_flush_ms_makes_the_active_segment_durable_too(self, disk: SimDisk, clock: StillClock) -> None:
        logs = start(disk, clock)
        log = logs.create("orders", 0, ID, settings(flush_ms=1000))
        append_many(log, 3)
        clock.pass_ms(999)
        logs.tick()
        assert log.recovery_point == 0
        clock.pass_ms(1)
        logs.tick()
        assert log.recovery_point == 3

    def test_checkpoints_are_written_every_few_seconds(self, disk: SimDisk, clock: StillClock) -> None:
        logs = start(disk, clock, dirs=("/disk1",))
        append_many(logs.create("orders", 0, ID, SMALL), 7, size=300)
        logs.tick()
        assert not disk.exists("/disk1/recovery-point-offset-checkpoint")
        clock.pass_ms(5000)
        logs.tick()
        assert disk.read_bytes("/disk1/recovery-point-offset-checkpoint") == b"0\n1\norders 0 6\n"
        assert disk.read_bytes("/disk1/replication-offset-checkpoint") == b"0\n1\norders 0 7\n"
        assert disk.read_bytes("/disk1/log-start-offset-checkpoint") == b"0\n1\norders 0 0\n"

    def test_a_cut_below_the_recovery_point_is_on_disk_before_anything_is_appended(
        self, disk: SimDisk
    ) -> None:
        logs = start(disk, dirs=("/disk1",))
        log = logs.create("orders", 0, ID, SMALL)
        append_many(log, 5)
        log.flush()
        log.truncate_to(2)
        assert disk.read_bytes("/disk1/recovery-point-offset-checkpoint") == b"0\n1\norders 0 2\n"

    def test_retention_deletes_what_is_too_old(self, disk: SimDisk, clock: StillClock) -> None:
        logs = start(disk, clock, dirs=("/disk1",), retention_check_interval_ms=60_000)
        log = logs.create("orders", 0, ID, settings(segment_bytes=1000, retention_ms=10_000))
        append_many(log, 7, size=300)
        clock.pass_ms(59_999)
        logs.tick()
        assert log.log_start_offset == 0
        clock.pass_ms(1)
        logs.tick()
        assert log.log_start_offset == 7
        assert disk.read_bytes("/disk1/log-start-offset-checkpoint") == b"0\n1\norders 0 7\n"
        assert [name for name in disk.list_dir("/disk1/orders-0") if name.endswith(".log")] == [
            f"{7:020d}.log"
        ]

    def test_deleted_records_stay_deleted_after_a_kill(self, disk: SimDisk, clock: StillClock) -> None:
        logs = start(disk, clock)
        log = logs.create("orders", 0, ID, SMALL)
        append_many(log, 5)
        log.delete_records_before(3)
        clock.pass_ms(5000)
        logs.tick()
        disk.kill()
        assert of(start(disk), "orders", 0).log_start_offset == 3


class TestEnding:
    def test_a_clean_stop_is_marked_and_the_next_start_takes_the_mark_away(self, disk: SimDisk) -> None:
        logs = start(disk)
        logs.close()
        assert all(disk.exists(f"{directory}/.kafka_cleanshutdown") for directory in DIRS)
        start(disk)
        assert not any(disk.exists(f"{directory}/.kafka_cleanshutdown") for directory in DIRS)

    def test_a_log_that_nothing_happened_to_is_not_written_again(self, disk: SimDisk) -> None:
        logs = start(disk, dirs=("/disk1",))
        written = append_many(logs.create("orders", 0, ID, SMALL), 3)
        logs.close()
        logs = start(disk, dirs=("/disk1",))
        disk.fail_next("write", OSError("must not be written"), "orders-0")
        logs.close()
        assert values(of(start(disk, dirs=("/disk1",)), "orders", 0)) == written

    def test_an_empty_log_costs_nothing_at_a_stop_nor_at_a_start_after_a_kill(self, disk: SimDisk) -> None:
        logs = start(disk, dirs=("/disk1",))
        logs.create("orders", 0, ID, SMALL)
        disk.fail_next("write", OSError("must not be written"), "orders-0")
        logs.close()
        logs = start(disk, dirs=("/disk1",))
        disk.kill()
        disk.fail_next("write", OSError("must not be written"), "orders-0")
        logs = start(disk, dirs=("/disk1",))
        logs.close()
        assert ends(start(disk, dirs=("/disk1",))) == {("orders", 0): 0}

    def test_an_empty_log_that_begins_late_begins_there_again(self, disk: SimDisk) -> None:
        logs = start(disk, dirs=("/disk1",))
        log = logs.create("orders", 0, ID, SMALL)
        append_many(log, 5)
        log.truncate_to(70, anew=True)
        for _ in range(2):
            logs.close()
            disk.crash()
            logs = start(disk, dirs=("/disk1",))
            assert (of(logs, "orders", 0).log_start_offset, ends(logs)) == (70, {("orders", 0): 70})

    def test_a_log_that_was_never_written_to_opens_cleanly(self, disk: SimDisk) -> None:
        logs = start(disk)
        logs.create("orders", 0, ID, SMALL)
        logs.close()
        disk.crash()
        assert ends(start(disk)) == {("orders", 0): 0}

    def test_nothing_is_lost_by_a_kill(self, disk: SimDisk) -> None:
        logs = start(disk)
        written = {
            partition: append_many(logs.create("t", partition, ID, SMALL), 9) for partition in range(3)
        }
        disk.kill()
        logs = start(disk)
        assert {partition: values(of(logs, "t", partition)) for partition in range(3)} == written

    def test_a_crash_after_a_clean_stop_takes_nothing(self, disk: SimDisk) -> None:
        logs = start(disk)
        written = append_many(logs.create("orders", 0, ID, SMALL), 20)
        logs.close()
        disk.crash()
        assert values(of(start(disk), "orders", 0)) == written

    def test_after_a_clean_stop_nothing_is_verified(self, disk: SimDisk) -> None:
        logs = start(disk, dirs=("/disk1",))
        append(logs.create("orders", 0, ID, SMALL), b"value")
        logs.close()
        path = f"/disk1/orders-0/{0:020d}.log"
        damaged = bytearray(disk.read_bytes(path))
        damaged[-2] ^= 1
        disk.create(path).append(damaged)
        assert ends(start(disk, dirs=("/disk1",))) == {("orders", 0): 1}
        disk.kill()
        with pytest.raises(LogDirFailure, match="CRC"):
            start(disk, dirs=("/disk1",))


class TestFailingDirectories:
    @pytest.fixture
    def damaged(self, disk: SimDisk) -> SimDisk:
        """Two directories with a log each; the first has damage below its recovery point."""
        logs = start(disk)
        for partition in range(2):
            log = logs.create("orders", partition, ID, SMALL)
            append_many(log, 3)
            log.flush()
        logs.close()
        disk.remove("/disk1/.kafka_cleanshutdown")
        path = f"/disk1/orders-0/{0:020d}.log"
        data = bytearray(disk.read_bytes(path))
        data[70] ^= 1
        disk.create(path).append(data)
        return disk

    def test_a_corrupt_directory_is_offline_and_the_others_serve(self, damaged: SimDisk) -> None:
        logs = start(damaged)
        assert ends(logs) == {("orders", 1): 3}
        (failure,) = logs.failures()
        assert failure.path == "/disk1"
        assert "at byte 0" in str(failure)

    def test_a_log_in_an_offline_directory_is_not_made_anew_elsewhere(self, damaged: SimDisk) -> None:
        logs = start(damaged)
        with pytest.raises(LogDirFailure):
            logs.get_or_create("orders", 0, ID, SMALL)
        assert logs.get_or_create("orders", 1, ID, SMALL).log_end_offset == 3
        assert logs.get_or_create("payments", 0, ID, SMALL).directory.path == "/disk2"

    def test_what_is_new_or_known_to_be_elsewhere_is_made_also_when_a_directory_cannot_be_looked_into(
        self, disk: SimDisk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        logs = start(disk)
        second = logs.directory_ids[1]
        logs.close()
        list_dir = disk.list_dir

        def fail_on_the_first(path: str) -> list[str]:
            if path == "/disk1":
                raise OSError(errno.EIO, "bad block")
            return list_dir(path)

        monkeypatch.setattr(disk, "list_dir", fail_on_the_first)
        logs = start(disk)
        assert (logs.directory_ids, len(logs.failures())) == ((second,), 1)
        with pytest.raises(LogDirFailure):
            logs.get_or_create("orders", 0, ID, SMALL)
        with pytest.raises(LogDirFailure):
            logs.get_or_create("orders", 0, ID, SMALL, directory_id=b"?" * 16)
        logs.get_or_create("orders", 0, ID, SMALL, directory_id=second)
        logs.get_or_create("orders", 1, ID, SMALL, is_new=True)
        assert {log.directory.path for log in logs.all().values()} == {"/disk2"}

    def test_a_log_is_made_in_the_directory_that_is_asked_for(self, disk: SimDisk) -> None:
        logs = start(disk)
        second = logs.directory_ids[1]
        made = [logs.create("orders", each, ID, SMALL, directory_id=second) for each in range(3)]
        assert {log.directory.path for log in made} == {"/disk2"}

    def test_an_offline_directory_is_not_marked_clean(self, damaged: SimDisk) -> None:
        start(damaged).close()
        assert not damaged.exists("/disk1/.kafka_cleanshutdown")
        assert damaged.exists("/disk2/.kafka_cleanshutdown")

    def test_without_any_sound_directory_there_is_no_broker(self, damaged: SimDisk) -> None:
        with pytest.raises(LogDirFailure):
            start(damaged, dirs=("/disk1",))

    def test_a_disk_that_fails_takes_its_logs_offline_and_no_others(self, disk: SimDisk) -> None:
        logs = start(disk)
        first, second = (logs.create("orders", partition, ID, SMALL) for partition in range(2))
        disk.fail_next("write", OSError(errno.EIO, "bad block"), first.directory.path)
        with pytest.raises(LogDirFailure):
            append(first, b"a")
        append(second, b"b")
        logs.tick()
        third = logs.create("orders", 2, ID, SMALL)
        assert third.directory is second.directory

    def test_a_broker_that_comes_back_without_a_failed_disk_is_not_taken_for_whole(
        self, disk: SimDisk
    ) -> None:
        logs = start(disk)
        logs.close(broker_epoch=7)
        logs = start(disk)
        assert logs.left_broker_epoch == 7
        logs.directories[0].fail(OSError(errno.EIO, "bad block"))
        logs.close(broker_epoch=8)
        assert start(disk, dirs=DIRS[1:]).left_broker_epoch == UNKNOWN_BROKER_EPOCH

    def test_housekeeping_goes_on_when_a_disk_fails_in_the_middle_of_it(
        self, disk: SimDisk, clock: StillClock
    ) -> None:
        logs = start(disk, clock)
        first, second = (logs.create("orders", partition, ID, SMALL) for partition in range(2))
        for log in (first, second):
            append_many(log, 7, size=300)
        disk.fail_next("sync", OSError(errno.EIO, "bad block"), first.path)
        clock.pass_ms(5000)
        logs.tick()
        assert first.directory.failure is not None
        assert (first.recovery_point, second.recovery_point) == (0, 6)
        logs.close()
        assert not disk.exists(f"{first.directory.path}/.kafka_cleanshutdown")

    def test_a_timestamp_is_still_found_after_all_this(self, damaged: SimDisk) -> None:
        assert of(start(damaged), "orders", 1).offset_for_time(NOW_MS) == (NOW_MS, 0)
