"""Records by timestamp: the first at or after a moment, and the latest of all."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.records.batch import compute_crc
from penstock.records.codecs import Codec
from penstock.storage.errors import LogDirFailure
from penstock.storage.incoming import examine_fetched
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, append, batch, open_log, records, settings, sim_disk


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


def log_with(disk: SimDisk, *timestamps: int, **options: Any) -> Log:
    log = open_log(disk, settings=settings(segment_bytes=500, index_interval_bytes=50))
    for timestamp in timestamps:
        append(log, b"v", timestamp_ms=NOW_MS + timestamp, **options)
    return log


def test_each_timestamp_is_found_at_its_first_record(disk: SimDisk) -> None:
    timestamps = [5, 1, 9, 9, 3, 20, 15, 15, 40, 2, 41]
    log = log_with(disk, *timestamps)
    for wanted in range(43):
        expected = next(
            ((NOW_MS + time, offset) for offset, time in enumerate(timestamps) if time >= wanted), None
        )
        assert log.offset_for_time(NOW_MS + wanted) == expected


@pytest.mark.parametrize("codec", list(Codec))
def test_a_record_is_found_inside_its_batch(disk: SimDisk, codec: Codec) -> None:
    log = open_log(disk)
    append(log, b"a", b"b", b"c", codec=codec)
    assert log.offset_for_time(NOW_MS + 1) == (NOW_MS + 1, 1)


def test_the_latest_record_is_the_first_with_the_largest_timestamp(disk: SimDisk) -> None:
    assert log_with(disk, 5, 90, 7, 90, 8).max_timestamp() == (NOW_MS + 90, 1)


def test_an_empty_log_has_no_time(disk: SimDisk) -> None:
    log = open_log(disk)
    assert (log.max_timestamp(), log.offset_for_time(0)) == (None, None)


def test_records_without_timestamps_have_no_time(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a", timestamp_ms=-1)
    assert log.max_timestamp() is None


def test_records_before_the_log_start_are_not_found(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a", b"b", b"c")
    append(log, b"d", timestamp_ms=NOW_MS)
    log.delete_records_before(2)
    assert log.offset_for_time(NOW_MS) == (NOW_MS + 2, 2)
    log.delete_records_before(3)
    assert log.offset_for_time(NOW_MS) == (NOW_MS, 3)


def test_times_are_found_again_after_a_clean_restart(disk: SimDisk) -> None:
    log = log_with(disk, *range(0, 100, 5))
    log.close()
    log = open_log(disk, clean=True)
    assert log.offset_for_time(NOW_MS + 51) == (NOW_MS + 55, 11)
    assert log.max_timestamp() == (NOW_MS + 95, 19)


def test_under_log_append_time_a_batch_has_one_time(disk: SimDisk) -> None:
    log = open_log(disk, settings=settings(message_timestamp_type="LogAppendTime"))
    append(log, b"a", b"b", timestamp_ms=3)
    assert log.offset_for_time(NOW_MS) == (NOW_MS, 0)


def test_a_batch_that_cannot_be_unpacked_is_answered_as_a_whole(disk: SimDisk) -> None:
    log = open_log(disk)
    append(log, b"a", timestamp_ms=NOW_MS)
    nonsense = bytearray(batch(b"b" * 20, b"c" * 20, timestamp_ms=NOW_MS + 50, leader_epoch=0))
    nonsense[22] = Codec.ZSTD
    nonsense[7] = 1  # the base offset: a leader took it before we looked inside batches
    nonsense[17:21] = compute_crc(nonsense, 0, len(nonsense)).to_bytes(4, "big")
    log.append_fetched(examine_fetched(memoryview(nonsense)))
    assert log.offset_for_time(NOW_MS + 51) == (NOW_MS + 51, 1)
    assert log.directory.failure is None


def test_a_batch_whose_crc_no_longer_holds_takes_the_directory_offline(disk: SimDisk) -> None:
    log = log_with(disk, 1, 2)
    assert len(records(log)) == 2
    path = f"/data/topic-0/{0:020d}.log"
    damaged = bytearray(disk.read_bytes(path))
    damaged[-1] ^= 1
    file = disk.open(path)
    file.truncate(0)
    file.append(damaged)
    with pytest.raises(LogDirFailure, match="CRC"):
        log.offset_for_time(NOW_MS + 2)
