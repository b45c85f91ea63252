"""The log: where batches go, when segments roll, and what a reader gets."""

from __future__ import annotations

import errno
from random import Random
from typing import Any

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import HEADER_SIZE, iter_headers, read_header
from penstock.records.codecs import Codec
from penstock.records.record import decode_batch
from penstock.storage.errors import LogDirFailure
from penstock.storage.incoming import examine_fetched, examine_internal
from penstock.storage.log import Log
from penstock.storage.outcomes import Appended
from penstock.testing.disk import SimDisk
from tests.storage.builders import (
    NOW_MS,
    StillClock,
    append,
    append_many,
    batch,
    headers,
    open_log,
    records,
    settings,
    sim_disk,
    values,
)

PATH = "/data/topic-0"


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def log(disk: SimDisk, clock: StillClock) -> Log:
    return open_log(disk, clock)


def small(**changes: Any) -> Any:
    """Settings under which a handful of batches fills a segment and every batch is indexed."""
    return settings(**{"segment_bytes": 1000, "index_interval_bytes": 100, **changes})


def log_files(disk: SimDisk) -> list[str]:
    return [name for name in disk.list_dir(PATH) if name.endswith(".log")]


def refusal(log: Log, data: memoryview, leader_epoch: int = 0) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        log.append_produced(log.examine(data), leader_epoch=leader_epoch)
    return caught.value.code


def fetched_refusal(log: Log, data: memoryview) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        log.append_fetched(examine_fetched(data))
    return caught.value.code


class TestAppending:
    def test_offsets_are_dense_and_begin_at_zero(self, log: Log) -> None:
        assert append(log, b"a", b"b") == Appended(0, 1, -1, 0, duplicate=False)
        assert append(log, b"c") == Appended(2, 2, -1, 0, duplicate=False)
        assert [record.offset for record in records(log)] == [0, 1, 2]
        assert log.log_end_offset == 3

    def test_offset_and_leader_epoch_are_written_into_the_batch(self, log: Log) -> None:
        append(log, b"a", leader_epoch=3)
        append(log, b"b", leader_epoch=4)
        assert [(header.base_offset, header.leader_epoch) for header in headers(log)] == [(0, 3), (1, 4)]

    @pytest.mark.parametrize("codec", list(Codec))
    def test_batches_are_kept_as_they_came_whatever_their_codec(self, log: Log, codec: Codec) -> None:
        sent = batch(b"a" * 1000, b"b" * 1000, codec=codec)
        body = bytes(sent[HEADER_SIZE:])
        log.append_produced(log.examine(sent), leader_epoch=0)
        piece = log.read(0, 1 << 20)
        assert piece is not None
        assert piece.read()[HEADER_SIZE:] == body
        assert values(log) == [b"a" * 1000, b"b" * 1000]

    def test_a_refused_batch_leaves_no_trace(self, log: Log) -> None:
        append(log, b"a")
        assert refusal(log, batch(b"x", control=True)) == ErrorCode.INVALID_RECORD
        assert (log.log_end_offset, values(log)) == (1, [b"a"])

    def test_more_bytes_than_a_segment_holds_are_refused(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=small())
        assert refusal(log, batch(b"a" * 1000)) == ErrorCode.RECORD_LIST_TOO_LARGE

    def test_the_broker_gives_its_own_time_when_the_topic_says_so(
        self, disk: SimDisk, clock: StillClock
    ) -> None:
        log = open_log(disk, clock, settings=settings(message_timestamp_type="LogAppendTime"))
        appended = append(log, b"a", b"b", timestamp_ms=5)
        assert appended.log_append_time_ms == NOW_MS
        assert [record.timestamp_ms for record in records(log)] == [NOW_MS, NOW_MS]

    def test_a_duplicate_is_answered_with_its_first_offset(self, log: Log) -> None:
        append(log, b"before")
        options = {"producer_id": 5, "producer_epoch": 0}
        append(log, b"a", b"b", base_sequence=0, **options)
        append(log, b"c", base_sequence=2, **options)
        assert append(log, b"a", b"b", base_sequence=0, **options) == Appended(1, 2, -1, 0, duplicate=True)
        assert values(log) == [b"before", b"a", b"b", b"c"]

    def test_a_duplicate_under_log_append_time_has_the_time_of_its_first_copy(
        self, disk: SimDisk, clock: StillClock
    ) -> None:
        log = open_log(disk, clock, settings=settings(message_timestamp_type="LogAppendTime"))
        options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
        append(log, b"a", **options)
        clock.pass_ms(1000)
        assert append(log, b"a", **options).log_append_time_ms == NOW_MS

    def test_a_gap_in_sequences_is_refused(self, log: Log) -> None:
        append(log, b"a", producer_id=5, producer_epoch=0, base_sequence=0)
        gap = batch(b"c", producer_id=5, producer_epoch=0, base_sequence=2)
        assert refusal(log, gap) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_a_coordinator_appends_several_batches_with_one_write(self, log: Log) -> None:
        together = bytearray(bytes(batch(b"a", b"b")) + bytes(batch(b"c")))
        appended = log.append_internal(examine_internal(memoryview(together), log.settings), leader_epoch=2)
        assert (appended.base_offset, appended.last_offset) == (0, 2)
        assert [header.base_offset for header in headers(log)] == [0, 2]

    def test_an_older_leader_epoch_is_fenced(self, log: Log) -> None:
        append(log, b"a", leader_epoch=5)
        assert refusal(log, batch(b"b"), leader_epoch=4) == ErrorCode.FENCED_LEADER_EPOCH
        assert log.log_end_offset == 1


class TestAppendingFromALeader:
    def test_offsets_and_epochs_stay_as_the_leader_gave_them(self, disk: SimDisk, log: Log) -> None:
        append(log, b"a", b"b", leader_epoch=3)
        append(log, b"c", leader_epoch=4)
        piece = log.read(0, 1 << 20)
        assert piece is not None
        follower = open_log(disk, path="/data/follower-0")
        fetched = memoryview(bytearray(piece.read()))
        appended = follower.append_fetched(examine_fetched(fetched))
        assert (appended.base_offset, appended.last_offset) == (0, 2)
        assert headers(follower) == headers(log)
        assert follower.epochs.entries() == [(3, 0), (4, 2)]

    def test_gaps_left_by_compaction_are_kept(self, log: Log) -> None:
        far = batch(b"far", base_offset=1000)
        log.append_fetched(examine_fetched(far))
        assert (log.log_end_offset, [record.offset for record in records(log)]) == (1001, [1000])

    def test_a_batch_below_the_end_is_refused(self, log: Log) -> None:
        append(log, b"a", b"b")
        assert fetched_refusal(log, batch(b"x", base_offset=1)) == ErrorCode.CORRUPT_MESSAGE

    def test_a_partial_last_batch_is_left_out(self, log: Log) -> None:
        fetched = bytes(batch(b"a")) + bytes(batch(b"b", base_offset=1))[:-1]
        log.append_fetched(examine_fetched(memoryview(bytearray(fetched))))
        assert values(log) == [b"a"]

    def test_nothing_fetched_is_nothing_appended(self, log: Log) -> None:
        appended = log.append_fetched(examine_fetched(memoryview(b"")))
        assert (appended.base_offset, appended.last_offset, log.log_end_offset) == (0, -1, 0)

    def test_more_than_a_segment_holds_is_spread_over_several(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=small())
        many = b"".join(bytes(batch(b"v" * 300, base_offset=offset)) for offset in range(6))
        log.append_fetched(examine_fetched(memoryview(bytearray(many))))
        assert values(log) == [b"v" * 300] * 6
        assert len(log_files(disk)) == 3


class TestRolling:
    def test_a_segment_is_full_when_the_next_batch_would_exceed_it(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=small())
        written = append_many(log, 10, size=300)
        assert log_files(disk) == [f"{base:020d}.log" for base in (0, 2, 4, 6, 8)]
        assert all(disk.size(f"{PATH}/{name}") <= 1000 for name in log_files(disk))
        assert values(log) == written

    def test_a_segment_is_full_when_its_time_is_over(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=settings(segment_ms=1000))
        for timestamp in (0, 500, 1000, 1001):
            append(log, b"v", timestamp_ms=NOW_MS + timestamp)
        assert len(log_files(disk)) == 2

    def test_batches_without_a_timestamp_roll_by_the_broker_s_clock(
        self, disk: SimDisk, clock: StillClock
    ) -> None:
        log = open_log(disk, clock, settings=settings(segment_ms=1000))
        append(log, b"v", timestamp_ms=-1)
        clock.pass_ms(1000)
        append(log, b"v", timestamp_ms=-1)
        assert len(log_files(disk)) == 1
        clock.pass_ms(1)
        append(log, b"v", timestamp_ms=-1)
        assert len(log_files(disk)) == 2

    def test_jitter_shortens_the_time_of_a_segment_by_chance_alone(self, disk: SimDisk) -> None:
        rolled_at = set()
        for seed in range(8):
            path = f"/data/jitter-{seed}"
            log = Log.open(
                disk,
                path,
                settings(segment_ms=100, segment_jitter_ms=90),
                StillClock(),
                clean=False,
                random=Random(seed),
            )
            timestamp = NOW_MS
            while len([name for name in disk.list_dir(path) if name.endswith(".log")]) == 1:
                append(log, b"v", timestamp_ms=timestamp)
                timestamp += 1
            rolled_at.add(timestamp - NOW_MS)
        assert len(rolled_at) > 3
        assert all(10 < time <= 103 for time in rolled_at)

    def test_a_segment_is_full_when_its_index_is(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=settings(index_interval_bytes=0, segment_index_bytes=24))
        append_many(log, 5)
        assert len(log_files(disk)) > 1
        assert len(values(log)) == 5

    def test_offsets_of_a_segment_fit_in_31_bits(self, disk: SimDisk, log: Log) -> None:
        append(log, b"a")
        far = 2**31
        log.append_fetched(examine_fetched(batch(b"b", base_offset=far, leader_epoch=0)))
        assert log_files(disk) == [f"{0:020d}.log", f"{far:020d}.log"]
        assert [record.offset for record in records(log)] == [0, far]

    def test_an_empty_segment_gives_way_instead_of_staying_behind(self, disk: SimDisk, log: Log) -> None:
        far = 2**31
        log.append_fetched(examine_fetched(batch(b"b", base_offset=far)))
        assert log_files(disk) == [f"{far:020d}.log"]

    def test_rolling_writes_both_indexes_and_a_snapshot_of_the_producers(
        self, disk: SimDisk, log: Log
    ) -> None:
        append(log, b"a", producer_id=1, producer_epoch=0, base_sequence=0)
        log.roll()
        assert [name for name in disk.list_dir(PATH) if name[0] == "0"] == [
            f"{0:020d}.index",
            f"{0:020d}.log",
            f"{0:020d}.timeindex",
            f"{1:020d}.log",
            f"{1:020d}.snapshot",
        ]

    def test_other_settings_hold_from_the_next_append_on(self, disk: SimDisk, log: Log) -> None:
        append_many(log, 3, size=300)
        log.reconfigure(small())
        append_many(log, 1, size=300)
        assert len(log_files(disk)) == 2


class TestReading:
    @pytest.fixture
    def filled(self, disk: SimDisk) -> Log:
        """Thirty batches of two records in several segments."""
        log = open_log(disk, settings=small())
        for number in range(30):
            append(log, b"%d" % number, b"v" * 60)
        assert len(log_files(disk)) > 3
        return log

    def test_every_offset_is_found_in_the_batch_that_holds_it(self, filled: Log) -> None:
        for offset in range(filled.log_end_offset):
            piece = filled.read(offset, 1 << 20)
            assert piece is not None
            header = read_header(piece.read())
            assert header.base_offset <= offset <= header.last_offset

    def test_a_read_stays_within_one_segment_and_reads_follow_each_other(self, filled: Log) -> None:
        assert [record.offset for record in records(filled)] == list(range(60))

    def test_the_end_of_the_log_has_nothing_to_read(self, filled: Log) -> None:
        assert filled.read(filled.log_end_offset, 1000) is None

    @pytest.mark.parametrize("offset", [-1, 61])
    def test_offsets_outside_the_log_are_out_of_range(self, filled: Log, offset: int) -> None:
        with pytest.raises(KafkaError) as caught:
            filled.read(offset, 1000)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE

    def test_a_read_may_cut_its_last_batch(self, filled: Log) -> None:
        piece = filled.read(0, 200)
        assert piece is not None
        assert (piece.size, len(list(iter_headers(piece.read())))) == (200, 1)

    def test_a_first_batch_larger_than_asked_for_comes_whole(self, filled: Log) -> None:
        piece = filled.read(0, 1)
        assert piece is not None
        assert decode_batch(piece.read())[0].value == b"0"
        assert piece.size == read_header(piece.read()).size_bytes

    def test_or_not_at_all_when_the_response_is_full(self, filled: Log) -> None:
        assert filled.read(0, 1, at_least_one=False) is None

    def test_nothing_at_or_above_the_bound_is_read(self, filled: Log) -> None:
        for bound in range(filled.log_end_offset + 1):
            for offset in range(0, bound + 1, 7):
                piece = filled.read(offset, 1 << 20, upto=bound)
                found = [] if piece is None else [header for _, header in iter_headers(piece.read())]
                assert all(header.last_offset < bound for header in found)
                # Whole batches below the bound are all there is to miss.
                if offset // 2 * 2 + 2 <= bound:
                    assert found[0].base_offset == offset // 2 * 2

    def test_a_bound_beyond_the_end_is_the_end(self, filled: Log) -> None:
        assert filled.read(59, 1 << 20, upto=1000) == filled.read(59, 1 << 20)

    def test_a_gap_is_skipped_even_across_segments(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=small())
        for offset in (0, 10, 500, 501):
            log.append_fetched(examine_fetched(batch(b"v" * 400, base_offset=offset)))
        piece = log.read(11, 1 << 20)
        assert piece is not None
        assert read_header(piece.read()).base_offset == 500

    def test_a_slice_outlives_the_log(self, filled: Log) -> None:
        piece = filled.read(0, 1 << 20)
        assert piece is not None
        before = piece.read()
        filled.delete()
        assert piece.read() == before


class TestTruncating:
    def test_whole_batches_go_from_the_one_that_holds_the_offset_on(self, disk: SimDisk) -> None:
        for offset in range(61):
            log = open_log(disk, path=f"/data/cut-{offset}", settings=small())
            for number in range(30):
                append(log, b"%d" % number, b"v" * 60)
            log.truncate_to(offset)
            assert log.log_end_offset == (offset // 2 * 2 if offset < 60 else 60)
            assert [record.offset for record in records(log)] == list(range(log.log_end_offset))
            append(log, b"next")
            assert values(log)[-1] == b"next"

    def test_timestamps_are_forgotten_with_their_records(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=small(index_interval_bytes=10))
        for index, timestamp in enumerate((10, 20, 90, 30, 40)):
            append(log, b"%d" % index, timestamp_ms=NOW_MS + timestamp)
        log.truncate_to(2)
        assert log.max_timestamp() == (NOW_MS + 20, 1)
        assert log.offset_for_time(NOW_MS + 21) is None

    def test_producers_are_as_they_were(self, log: Log) -> None:
        options = {"producer_id": 5, "producer_epoch": 0}
        append(log, b"a", base_sequence=0, **options)
        log.roll()
        append(log, b"b", base_sequence=1, **options)
        append(log, b"c", base_sequence=2, **options)
        log.truncate_to(2)
        assert append(log, b"b", base_sequence=1, **options).duplicate
        assert not append(log, b"c", base_sequence=2, **options).duplicate

    def test_epochs_and_recovery_point_are_cut_too_and_somebody_is_told(self, log: Log) -> None:
        told: list[int] = []
        log.on_cut = lambda: told.append(log.recovery_point)
        append(log, b"a", leader_epoch=1)
        append(log, b"b", leader_epoch=2)
        log.flush()
        log.truncate_to(1)
        assert (log.epochs.latest, log.recovery_point, told) == (1, 1, [1])
        assert log.epoch_end_offset(1) == (1, 1)

    def test_a_cut_before_the_first_record_begins_anew_there(self, disk: SimDisk, log: Log) -> None:
        append_many(log, 5)
        log.delete_records_before(3)
        log.truncate_to(0)
        assert (log.log_start_offset, log.log_end_offset, values(log)) == (0, 0, [])
        append(log, b"next")
        assert records(log)[0].offset == 0
        assert log_files(disk) == [f"{0:020d}.log"]

    def test_what_was_cut_does_not_come_back_after_a_crash(self) -> None:
        for seed in range(20):
            disk = sim_disk(seed)
            log = open_log(disk, settings=small())
            append_many(log, 12, size=300)
            log.flush()
            log.truncate_to(3)
            disk.crash()
            assert open_log(disk, settings=small(), recovery_point=3).log_end_offset == 3


class TestFlushing:
    def test_a_flush_makes_everything_survive_a_crash(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=small())
        written = append_many(log, 20)
        log.flush()
        assert log.recovery_point == 20
        disk.crash()
        assert values(open_log(disk, settings=small(), recovery_point=20)) == written

    def test_flush_messages_bounds_what_is_not_durable(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=settings(flush_messages=3))
        recovery_points = []
        for _ in range(7):
            append(log, b"v")
            recovery_points.append(log.recovery_point)
        assert recovery_points == [0, 0, 3, 3, 3, 6, 6]

    def test_a_flush_outside_the_lock_says_nothing_when_the_log_was_cut_meanwhile(self, log: Log) -> None:
        append_many(log, 4)
        unflushed = log.unflushed()
        log.truncate_to(2)
        append_many(log, 5)
        log.flushed(log.sync(unflushed))
        assert log.recovery_point == 0

    def test_segments_that_vanish_during_a_flush_are_no_failure_when_the_log_was_cut(
        self, disk: SimDisk
    ) -> None:
        log = open_log(disk, settings=small())
        append_many(log, 20, size=300)
        unflushed = log.unflushed(active=False)
        log.truncate_to(1)
        log.sync(unflushed)
        assert log.directory.failure is None

    def test_a_failed_sync_takes_the_directory_offline_and_is_never_an_ack(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=settings(flush_messages=1))
        append(log, b"a")
        disk.fail_next("sync", OSError(errno.EIO, "bad block"), ".log")
        with pytest.raises(LogDirFailure, match="bad block"):
            append(log, b"b")
        with pytest.raises(LogDirFailure):
            append(log, b"c")
        with pytest.raises(LogDirFailure):
            log.flush()
        with pytest.raises(LogDirFailure):
            log.read(0, 100)

    def test_a_copy_of_a_batch_whose_sync_failed_is_never_an_ack(self, disk: SimDisk) -> None:
        log = open_log(disk, settings=settings(flush_messages=1))
        sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
        disk.fail_next("sync", OSError(errno.EIO, "bad block"), ".log")
        for _ in range(2):
            with pytest.raises(LogDirFailure, match="bad block"):
                append(log, b"a", **sent)

    def test_what_follows_a_failed_write_is_refused_by_the_disk_and_not_out_of_order(
        self, disk: SimDisk
    ) -> None:
        log = open_log(disk, settings=settings())
        append(log, b"a", producer_id=7, producer_epoch=0, base_sequence=0)
        disk.fail_next("write", OSError(errno.EIO, "bad block"), ".log")
        for sequence in (1, 2):
            with pytest.raises(LogDirFailure, match="bad block"):
                append(log, b"b", producer_id=7, producer_epoch=0, base_sequence=sequence)


class TestFailingWrites:
    def test_a_full_disk_refuses_and_takes_again_when_there_is_space(self, disk: SimDisk, log: Log) -> None:
        append(log, b"a")
        disk.fail_next("write", OSError(errno.ENOSPC, "full"))
        assert refusal(log, batch(b"b")) == ErrorCode.KAFKA_STORAGE_ERROR
        append(log, b"c")
        assert values(log) == [b"a", b"c"]

    def test_a_full_disk_during_a_roll_leaves_the_log_as_it_was(self, disk: SimDisk) -> None:
        for suffix in (".index", ".timeindex", ".snapshot", f"{2:020d}.log"):
            path = f"/data/full{suffix}-0"
            log = open_log(disk, path=path, settings=small())
            append_many(log, 2, size=300)
            disk.fail_next("write", OSError(errno.ENOSPC, "full"), suffix)
            assert refusal(log, batch(b"v" * 300)) == ErrorCode.KAFKA_STORAGE_ERROR
            assert log.log_end_offset == 2
            append_many(log, 5, size=300)
            log.close()
            assert len(records(open_log(disk, path=path, settings=small(), clean=True))) == 7

    def test_any_other_refusal_takes_the_directory_offline(self, disk: SimDisk, log: Log) -> None:
        disk.fail_next("write", OSError(errno.EIO, "bad block"))
        with pytest.raises(LogDirFailure, match="bad block"):
            append(log, b"a")

    def test_a_closed_log_takes_nothing(self, log: Log) -> None:
        log.close()
        assert refusal(log, batch(b"a")) == ErrorCode.KAFKA_STORAGE_ERROR
