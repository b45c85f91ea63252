"""What is deleted: the oldest segments, for age, size or deleted records; nothing above the mark."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, StillClock, append, open_log, records, settings, sim_disk

PATH = "/data/topic-0"
# Two batches of this value fill a segment.
VALUE = b"v" * 300


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


def filled(disk: SimDisk, clock: StillClock, batches: int = 7, **changes: Any) -> Log:
    """Batches a second apart, two in a segment, the first at NOW_MS."""
    log = open_log(disk, clock, settings=settings(segment_bytes=1000, **{"retention_ms": -1, **changes}))
    for number in range(batches):
        append(log, VALUE, timestamp_ms=NOW_MS + number * 1000)
    clock.time_ms = NOW_MS + (batches - 1) * 1000
    return log


def log_files(disk: SimDisk) -> list[int]:
    return [int(name[:20]) for name in disk.list_dir(PATH) if name.endswith(".log")]


def offsets(log: Log) -> list[int]:
    return [record.offset for record in records(log)]


def test_nothing_is_deleted_without_a_limit(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock)
    clock.pass_ms(10**12)
    assert log.expire() == 0


def test_segments_go_when_their_newest_record_is_too_old(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock, retention_ms=3500)
    assert log.expire() == 1
    assert (log.log_start_offset, offsets(log)) == (2, [2, 3, 4, 5, 6])
    clock.pass_ms(2000)
    assert log.expire() == 1
    assert log.log_start_offset == 4


def test_files_go_when_they_are_removed_and_slices_stay_readable(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock, retention_ms=3500)
    piece = log.read(0, 100)
    assert piece is not None
    before = piece.read()
    log.expire()
    assert log_files(disk) == [0, 2, 4, 6]
    log.remove_expired()
    assert log_files(disk) == [2, 4, 6]
    assert not [name for name in disk.list_dir(PATH) if name.startswith(f"{0:020d}")]
    assert piece.read() == before


def test_the_active_segment_rolls_away_when_all_is_too_old(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock, retention_ms=3500)
    clock.pass_ms(10_000)
    assert log.expire() == 4
    log.remove_expired()
    assert (log.log_start_offset, log.log_end_offset, offsets(log), log_files(disk)) == (7, 7, [], [7])
    append(log, b"next", timestamp_ms=clock.now_ms())
    assert offsets(log) == [7]


def test_an_empty_log_keeps_its_segment(disk: SimDisk, clock: StillClock) -> None:
    log = open_log(disk, clock, settings=settings(retention_ms=1))
    clock.pass_ms(1000)
    assert log.expire() == 0


def test_the_oldest_segments_go_until_the_size_is_right(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock, retention_bytes=1800)
    assert log.size_bytes > 1800
    log.expire()
    assert offsets(log) == [2, 3, 4, 5, 6]
    # The next one would bring the log below its size.
    assert log.expire() == 0


def test_a_compacted_topic_is_not_cut_by_age_or_size(disk: SimDisk, clock: StillClock) -> None:
    compact = ("compact",)
    log = filled(disk, clock, cleanup_policy=compact, retention_ms=1, retention_bytes=1)
    clock.pass_ms(10_000)
    assert log.expire() == 0


def test_nothing_at_or_above_the_high_watermark_goes(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock, retention_ms=1)
    log.high_watermark = 3
    clock.pass_ms(10_000)
    assert log.expire() == 1
    assert log.log_start_offset == 2


def test_records_without_timestamps_age_by_the_broker_s_clock(disk: SimDisk, clock: StillClock) -> None:
    log = open_log(disk, clock, settings=settings(segment_bytes=1000, retention_ms=500))
    for _ in range(5):
        append(log, VALUE, timestamp_ms=-1)
    assert log.expire() == 0
    clock.pass_ms(501)
    assert log.expire() == 3


def test_deleted_records_are_out_of_range_at_once_and_their_segments_go_later(
    disk: SimDisk, clock: StillClock
) -> None:
    log = filled(disk, clock)
    log.delete_records_before(5)
    with pytest.raises(KafkaError) as caught:
        log.read(4, 100)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets(log) == [5, 6]
    assert log.expire() == 2
    log.remove_expired()
    assert (log_files(disk), log.log_start_offset) == ([4, 6], 5)


def test_records_above_the_high_watermark_cannot_be_deleted(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock)
    with pytest.raises(KafkaError) as caught:
        log.delete_records_before(8)
    assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_log_start_never_goes_back(disk: SimDisk, clock: StillClock) -> None:
    log = filled(disk, clock)
    log.delete_records_before(5)
    log.delete_records_before(3)
    assert log.log_start_offset == 5


def test_epochs_and_producers_of_deleted_segments_are_forgotten(disk: SimDisk, clock: StillClock) -> None:
    log = open_log(
        disk, clock, settings=settings(segment_bytes=1000, retention_ms=3500), producer_expiration_ms=5000
    )
    for number in range(6):
        options = {"producer_id": number, "producer_epoch": 0, "base_sequence": 0}
        append(log, VALUE, timestamp_ms=NOW_MS + number * 1000, leader_epoch=number, **options)
    clock.pass_ms(6600)
    log.expire()
    assert log.epochs.entries()[0] == (4, 4)
    again = append(log, VALUE, producer_id=0, producer_epoch=0, base_sequence=77, leader_epoch=9)
    assert not again.duplicate


def test_a_log_that_lost_its_first_segments_opens_where_it_now_begins(
    disk: SimDisk, clock: StillClock
) -> None:
    log = filled(disk, clock, retention_ms=3500)
    log.expire()
    log.remove_expired()
    log.close()
    log = open_log(disk, clock, clean=True)
    assert (log.log_start_offset, offsets(log)) == (2, [2, 3, 4, 5, 6])
