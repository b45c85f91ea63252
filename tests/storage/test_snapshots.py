"""Snapshot files of the producer state: which one is taken, and what becomes of the others."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import KafkaError
from penstock.storage.log import Log
from penstock.storage.snapshots import Snapshots
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, StillClock, append, append_many, open_log, settings, sim_disk

PATH = "/data/topic-0"
DAY_MS = 86_400_000
HOUR_MS = 3_600_000


@pytest.fixture
def disk() -> SimDisk:
    return sim_disk()


def offsets(disk: SimDisk) -> list[int]:
    return Snapshots(disk, PATH).offsets()


def send(log: Log, sequence: int) -> bool:
    """Whether it was a duplicate."""
    return append(log, b"v" * 300, producer_id=1, producer_epoch=0, base_sequence=sequence).duplicate


def test_each_roll_and_a_clean_close_leave_one(disk: SimDisk) -> None:
    log = open_log(disk, settings=settings(segment_bytes=1000))
    append_many(log, 5, size=300)
    assert offsets(disk) == [2, 4]
    log.close()
    assert offsets(disk) == [2, 4, 5]


@pytest.mark.parametrize("segment_bytes", [100_000, 1000])
def test_after_a_clean_stop_the_last_five_batches_are_still_known(disk: SimDisk, segment_bytes: int) -> None:
    small = settings(segment_bytes=segment_bytes)
    log = open_log(disk, settings=small)
    for sequence in range(7):
        send(log, sequence)
    log.close()
    log = open_log(disk, settings=small, clean=True)
    # A snapshot has the last one only; a producer that got no answers sends all that were under way.
    assert [send(log, sequence) for sequence in (2, 3, 4, 5, 6)] == [True] * 5
    with pytest.raises(KafkaError, match="sequence 1"):
        send(log, 1)
    assert not send(log, 7)
    assert [send(log, sequence) for sequence in (3, 4, 5, 6, 7)] == [True] * 5


def test_batches_of_an_earlier_epoch_and_of_others_are_not_recalled(disk: SimDisk) -> None:
    log = open_log(disk)
    for epoch in (0, 1):
        for producer_id in (1, 2):
            append(log, b"v", producer_id=producer_id, producer_epoch=epoch, base_sequence=0)
    log.close()
    log = open_log(disk, clean=True)
    assert [len(log.producers._producers[number].batches) for number in (1, 2)] == [1, 1]


def test_a_producer_that_wrote_long_ago_costs_no_search(disk: SimDisk) -> None:
    log = open_log(disk)
    send(log, 0)
    send(log, 1)
    log.close()
    log = open_log(disk, StillClock(NOW_MS + HOUR_MS), clean=True)
    assert send(log, 1)
    with pytest.raises(KafkaError, match="sequence 0"):
        send(log, 0)


def test_a_torn_snapshot_is_thrown_away_and_an_older_one_taken(disk: SimDisk) -> None:
    log = open_log(disk, settings=settings(segment_bytes=1000))
    for sequence in range(5):
        send(log, sequence)
    log.close()
    disk.create(f"{PATH}/{5:020d}.snapshot").append(b"torn")
    log = open_log(disk, settings=settings(segment_bytes=1000), clean=True)
    assert offsets(disk) == [2, 4]
    assert send(log, 4)
    assert send(log, 3)
    assert not send(log, 5)


def test_snapshots_go_with_their_segments(disk: SimDisk) -> None:
    clock = StillClock()
    log = open_log(disk, clock, settings=settings(segment_bytes=1000, retention_bytes=1000))
    append_many(log, 9, size=300)
    log.expire()
    log.remove_expired()
    assert offsets(disk) == [6, 8]


def test_producers_that_expired_while_the_broker_was_down_are_forgotten(disk: SimDisk) -> None:
    log = open_log(disk)
    send(log, 0)
    log.close()
    log = open_log(disk, StillClock(NOW_MS + DAY_MS), clean=True)
    assert not send(log, 70)


def test_those_of_earlier_clean_stops_do_not_pile_up(disk: SimDisk) -> None:
    for round_number in range(4):
        log = open_log(disk, clean=round_number > 0)
        append_many(log, 3)
        log.close()
    assert offsets(disk) == [9, 12]
    open_log(disk, clean=True)
    assert offsets(disk) == [12]
