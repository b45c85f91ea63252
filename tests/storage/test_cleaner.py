"""Which log the cleaner takes, when, and what becomes of one that it cannot compact."""

from __future__ import annotations

import dataclasses
import errno
from random import Random
from typing import Any

import pytest

from penstock.records.record import Record, encode_batch
from penstock.storage.cleaner import LogCleaner
from penstock.storage.incoming import examine_fetched
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, StillClock, settings, sim_disk
from tests.storage.compacted import CHECKPOINT, PATH, TOPIC_ID, Compacted

HOUR_MS = 3_600_000


def one_record(key: bytes, value: bytes) -> bytearray:
    return encode_batch([Record(key, value, timestamp_ms=NOW_MS)])


def named(logs: Logs, topic: str) -> Log:
    log = logs.get(topic, 0)
    assert log is not None
    return log


def filled(disk: SimDisk | None = None, **changes: Any) -> Compacted:
    topic = Compacted(disk or sim_disk(), **changes)
    for number in range(40):
        topic.put((b"%d" % (number % 5), b"%d:" % number + bytes(60)))
    topic.seal()
    return topic


class TestWhen:
    def test_a_log_is_compacted_once_it_is_dirty_enough(self) -> None:
        topic = filled(min_cleanable_dirty_ratio=0.5)
        assert topic.clean(), "never compacted: all of it is dirty"
        topic.put((b"0", b""))
        topic.seal()
        assert not topic.clean()
        for _ in range(20):
            topic.put((b"0", bytes(60)))
        topic.seal()
        assert topic.clean()

    def test_a_topic_that_is_not_compacted_is_left_alone(self) -> None:
        topic = filled()
        topic.log.reconfigure(settings(segment_bytes=1000))
        assert not topic.clean()

    def test_records_younger_than_the_least_lag_stay_dirty(self) -> None:
        topic = filled(min_compaction_lag_ms=HOUR_MS)
        assert not topic.clean()
        topic.clock.pass_ms(HOUR_MS + 1)
        topic.put((b"young", bytes(60)))
        topic.seal()
        assert topic.clean()
        assert len(topic.found()) == 6
        assert topic.log.directory.cleaned.get(("topic", 0)) == 40

    def test_a_record_that_waits_for_the_greatest_lag_is_compacted_whatever_the_ratio(self) -> None:
        topic = filled(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=HOUR_MS)
        assert not topic.clean()
        topic.clock.pass_ms(HOUR_MS + 1)
        assert topic.clean()

    def test_the_greatest_lag_rolls_the_active_segment(self) -> None:
        topic = filled(max_compaction_lag_ms=HOUR_MS)
        topic.put((b"a", b"1"))
        active = topic.log.active_base_offset
        topic.clock.pass_ms(HOUR_MS + 1)
        topic.put((b"a", b"2"))
        assert topic.log.active_base_offset > active

    def test_what_is_not_durable_or_not_committed_is_not_compacted(self) -> None:
        topic = Compacted(sim_disk())
        for number in range(20):
            topic.put((b"%d" % (number % 5), bytes(60)))
        topic.log.roll()
        assert not topic.clean()
        topic.log.flush()
        topic.log.high_watermark = 3
        assert topic.log.sealed_segments()[0].next_offset() > 3
        assert not topic.clean()
        topic.log.high_watermark = 20
        assert topic.clean()

    def test_a_cleaner_that_is_switched_off_does_nothing(self) -> None:
        topic = filled()
        topic.broker_settings = dataclasses.replace(topic.broker_settings, log_cleaner_enable=False)
        assert not topic.clean()


class TestWhich:
    def logs(self, disk: SimDisk) -> tuple[Logs, LogCleaner]:
        topic = filled(disk)
        second = topic.logs.create("second", 0, bytes(16), settings(**topic.changes))
        for number in range(40):
            batch = one_record(b"%d" % (number % 5), b"%d:" % number + bytes(60))
            second.append_produced(second.examine(memoryview(batch)), leader_epoch=0)
        second.roll()
        second.flush()
        return topic.logs, topic.cleaner

    def test_a_damaged_log_is_left_alone_and_the_others_are_compacted(self) -> None:
        disk = sim_disk()
        logs, cleaner = self.logs(disk)
        path = f"{PATH}/{0:020d}.log"
        damaged = bytearray(disk.read_bytes(path))
        damaged[100] ^= 1
        disk.create(path).append(damaged)
        before = [segment.size for segment in named(logs, "topic").sealed_segments()]
        while cleaner.clean_next(lambda seconds: None):
            pass
        assert list(cleaner.uncleanable()) == [PATH]
        assert "CRC" in cleaner.uncleanable()[PATH]
        assert [segment.size for segment in named(logs, "topic").sealed_segments()] == before
        assert named(logs, "second").directory.cleaned.get(("second", 0)) == 40
        assert logs.failures() == []
        assert not [name for name in disk.list_dir(PATH) if name.endswith((".cleaned", ".swap"))]

    def test_a_log_of_the_same_name_made_anew_is_compacted(self) -> None:
        disk = sim_disk()
        logs, cleaner = self.logs(disk)
        path = f"{PATH}/{0:020d}.log"
        damaged = bytearray(disk.read_bytes(path))
        damaged[100] ^= 1
        disk.create(path).append(damaged)
        while cleaner.clean_next(lambda seconds: None):
            pass
        logs.delete("topic", 0)
        cleaner.clean_next(lambda seconds: None)
        assert cleaner.uncleanable() == {}

    def test_the_dirtiest_comes_first_and_none_is_taken_twice(self) -> None:
        disk = sim_disk()
        logs, cleaner = self.logs(disk)
        assert cleaner.clean_next(lambda seconds: None)
        assert cleaner.clean_next(lambda seconds: None)
        assert not cleaner.clean_next(lambda seconds: None)
        assert {name: named(logs, name).directory.cleaned.get((name, 0)) for name in ("topic", "second")} == {
            "topic": 40,
            "second": 40,
        }


class TestCheckpoint:
    def test_it_says_where_the_next_round_begins_in_kafkas_format(self) -> None:
        topic = filled()
        topic.clean()
        assert topic.disk.read_bytes(CHECKPOINT) == b"0\n1\ntopic 0 40\n"

    def test_a_log_is_in_it_before_its_first_gap(self) -> None:
        disk = sim_disk()
        topic = filled(disk)
        disk.fail_next("write", OSError(errno.ENOSPC, "full"), ".cleaned")
        topic.clean()
        assert disk.read_bytes(CHECKPOINT) == b"0\n1\ntopic 0 0\n"

    def test_a_topic_that_is_deleted_leaves_it(self) -> None:
        topic = filled()
        topic.clean()
        topic.logs.delete("topic", 0)
        assert topic.disk.read_bytes(CHECKPOINT) == b"0\n0\n"
        topic.logs.create("topic", 0, TOPIC_ID, settings(**topic.changes))
        assert topic.log.directory.cleaned.get(("topic", 0)) is None

    def test_entries_without_a_log_go_at_the_next_start(self) -> None:
        topic = filled()
        topic.disk.create(CHECKPOINT).append(b"0\n2\nghost 3 7\ntopic 0 5\n")
        topic.disk.kill()
        topic.open()
        assert topic.log.directory.cleaned.get(("topic", 0)) == 5
        assert topic.disk.read_bytes(CHECKPOINT) == b"0\n1\ntopic 0 5\n"

    def test_a_damaged_one_costs_a_round_and_no_record(self) -> None:
        topic = filled()
        topic.clean()
        found = topic.found()
        topic.disk.create(CHECKPOINT).append(b"garbage")
        topic.disk.kill()
        topic.open()
        assert topic.found() == found
        assert topic.clean()
        assert topic.found() == found

    def test_gaps_stay_when_the_topic_is_no_longer_compacted(self) -> None:
        topic = filled()
        topic.clean()
        found = topic.found()
        topic.changes["cleanup_policy"] = ("delete",)
        topic.disk.kill()
        topic.open()
        assert topic.found() == found

    def test_it_never_points_behind_the_end_of_a_log_that_was_cut(self) -> None:
        topic = filled()
        topic.clean()
        topic.log.truncate_to(36)
        assert topic.log.directory.cleaned.get(("topic", 0)) == topic.log.log_end_offset

    def test_one_that_points_nowhere_is_begun_anew(self) -> None:
        topic = filled()
        topic.log.directory.cleaned.put(("topic", 0), 4000)
        assert topic.clean()
        assert len(topic.found()) == 5


class TestDisk:
    def test_a_full_disk_is_waited_out(self) -> None:
        disk = sim_disk()
        topic = filled(disk)
        before = topic.found()
        for path in (".log.cleaned", ".index.cleaned", ".timeindex.cleaned"):
            disk.fail_next("write", OSError(errno.ENOSPC, "full"), path)
            assert not topic.clean()
            assert topic.found() == before
            assert not topic.files(".cleaned")
        assert topic.log.directory.failure is None
        assert topic.cleaner.uncleanable() == {}
        assert topic.clean()
        assert len(topic.found()) == 5

    @pytest.mark.parametrize("operation", ["write", "sync"])
    def test_a_broken_disk_takes_the_directory_offline(self, operation: str) -> None:
        disk = sim_disk()
        topic = filled(disk)
        disk.fail_next(operation, OSError(errno.EIO, "broken"), ".cleaned")
        assert not topic.clean()
        assert topic.log.directory.failure is not None
        assert not topic.clean()
        disk.crash()
        topic.open()
        assert len(topic.found()) == 40


def test_a_follower_with_gaps_is_remembered_before_they_are_written() -> None:
    disk = SimDisk(Random(1))
    topic = Compacted(disk, cleanup_policy=("delete",))
    batch = one_record(b"a", b"1")
    batch[7], batch[12:16] = 9, bytes(4)  # the leader's base offset and epoch
    topic.log.append_fetched(examine_fetched(memoryview(batch)))
    assert disk.read_bytes(CHECKPOINT) == b"0\n1\ntopic 0 0\n"
    disk.kill()
    topic.open()
    assert topic.found() == [(9, b"a", b"1")]


def test_time_does_not_stand_still_for_the_throttle() -> None:
    clock = StillClock()
    topic = Compacted(sim_disk(), clock)
    for number in range(40):
        topic.put((b"%d" % (number % 5), bytes(60)))
    topic.seal()
    topic.broker_settings = dataclasses.replace(
        topic.broker_settings, log_cleaner_io_max_bytes_per_second=1000.0
    )
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        clock.pass_ms(round(seconds * 1000))

    before = topic.log.size_bytes
    assert topic.clean(pause)
    read_twice_and_written = 2 * before + topic.log.size_bytes
    assert sum(paused) == pytest.approx(read_twice_and_written / 1000, rel=0.1)
