"""Transactions in a log: what is stable, what was aborted, who is fenced, and what a start knows of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.storage.aborted import Aborted
from penstock.storage.log import Log
from tests.storage.builders import StillClock, batch, open_log, records, settings, sim_disk
from tests.storage.transactional import Writer, committed, plain

PATH = "/data/topic-0"


@pytest.fixture
def log() -> Log:
    return open_log(sim_disk())


def refusal(write: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        write()
    return caught.value.code


# The last stable offset


def test_the_first_open_transaction_bounds_what_is_stable(log: Log) -> None:
    plain(log, b"before")
    one, two = Writer(1), Writer(2)
    one.write(log, b"1")
    two.write(log, b"2")
    plain(log, b"after")
    assert (log.last_stable_offset, committed(log)) == (1, [b"before"])
    one.end(log, commit=True)
    assert (log.last_stable_offset, committed(log)) == (2, [b"before", b"1"])
    two.end(log, commit=True)
    assert (log.last_stable_offset, log.log_end_offset) == (6, 6)
    assert committed(log) == [b"before", b"1", b"2", b"after"]


def test_a_marker_counts_when_all_replicas_have_it(log: Log) -> None:
    writer = Writer(1)
    writer.write(log, b"1")
    log.high_watermark = 1
    writer.end(log, commit=True)
    assert log.last_stable_offset == 0
    log.high_watermark = 2
    assert log.last_stable_offset == 2


def test_records_deleted_below_move_what_is_stable_up(log: Log) -> None:
    writer = Writer(1)
    writer.write(log, b"1", b"2", b"3")
    plain(log, b"after")
    log.delete_records_before(2)
    assert (log.last_stable_offset, committed(log)) == (2, [])
    writer.end(log, commit=True)
    assert committed(log) == [b"3", b"after"]


# Aborted transactions


def test_a_reader_is_told_which_transactions_were_aborted(log: Log) -> None:
    one, two = Writer(1), Writer(2)
    one.write(log, b"1a")
    two.write(log, b"2a")
    one.end(log, commit=False)
    one.write(log, b"1b")
    two.end(log, commit=False)
    one.end(log, commit=True)
    assert committed(log) == [b"1b"]
    assert log.read_committed(0, 1 << 20)[1] == [Aborted(1, 0, 2, 1), Aborted(2, 1, 4, 3)]
    assert log.read_committed(3, 1 << 20)[1] == [Aborted(2, 1, 4, 3)]
    assert log.read_committed(5, 1 << 20)[1] == []


def test_a_transaction_over_many_segments_is_known_in_the_first_of_them() -> None:
    log = open_log(sim_disk(), settings=settings(segment_bytes=300, index_interval_bytes=100))
    writer = Writer(1)
    for number in range(10):
        writer.write(log, b"%d" % number + bytes(100))
        plain(log, b"plain%d" % number)
    writer.end(log, commit=False)
    plain(log, b"last")
    assert len(log.sealed_segments()) > 5
    expected = [b"plain%d" % number for number in range(10)] + [b"last"]
    for max_bytes in (1, 300, 1 << 20):
        assert committed(log, max_bytes) == expected


def test_nothing_but_aborts_is_written_to_the_index_file() -> None:
    disk = sim_disk()
    log = open_log(disk)
    writer = Writer(1)
    writer.write(log, b"1")
    writer.end(log, commit=True)
    log.roll()
    writer.write(log, b"2")
    writer.end(log, commit=False)
    log.roll()
    names = [name for name in disk.list_dir(PATH) if name.endswith(".txnindex")]
    assert names == ["00000000000000000002.txnindex"]
    assert disk.read_bytes(f"{PATH}/{names[0]}").hex() == (
        "0000" + "0000000000000001" + "0000000000000002" + "0000000000000003" + "0000000000000004"
    )


# Fencing


def test_a_batch_that_nobody_verified_is_refused(log: Log) -> None:
    writer = Writer(1)
    writer.write(log, b"1")
    writer.end(log, commit=True)
    guard = log.producers.begin_verification(1, 0, 1, epoch_bump=False, now_ms=0)
    writer.write(log, b"2")
    writer.end(log, commit=False)
    # The guard was taken before the marker: what the coordinator said then is worth nothing now.
    data = batch(b"late", producer_id=1, producer_epoch=0, base_sequence=2, transactional=True)
    late = refusal(lambda: log.append_produced(log.examine(data), leader_epoch=0, guard=guard))
    assert late is ErrorCode.INVALID_TXN_STATE
    assert log.last_stable_offset == log.log_end_offset


def test_the_late_marker_of_one_transaction_leaves_the_next_one_s_verification_as_it_is(log: Log) -> None:
    writer = Writer(1)
    writer.write(log, b"1")
    # The commit is decided, so the client goes on with the next epoch while the marker is under way here.
    guard = log.producers.begin_verification(1, 1, 0, epoch_bump=True, now_ms=0)
    writer.end(log, commit=True, version=2)
    data = batch(b"2", producer_id=1, producer_epoch=1, base_sequence=0, transactional=True)
    assert log.append_produced(log.examine(data), leader_epoch=0, guard=guard).base_offset == 2


def test_a_transaction_s_own_marker_ends_its_verification_in_version_2_too(log: Log) -> None:
    writer = Writer(1)
    guard = log.producers.begin_verification(1, 0, 0, epoch_bump=True, now_ms=0)
    writer.end(log, commit=False, version=2)
    data = batch(b"late", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    late = refusal(lambda: log.append_produced(log.examine(data), leader_epoch=0, guard=guard))
    assert late is ErrorCode.INVALID_TXN_STATE


def test_a_batch_outside_of_the_open_transaction_is_refused(log: Log) -> None:
    writer = Writer(1)
    writer.write(log, b"1")
    assert refusal(lambda: writer.write(log, b"2", transactional=False)) is ErrorCode.INVALID_TXN_STATE


def test_an_old_epoch_is_fenced_by_a_marker(log: Log) -> None:
    writer, zombie = Writer(1), Writer(1)
    writer.write(log, b"1")
    writer.end(log, commit=False, version=2)
    zombie.sequence = 1
    assert refusal(lambda: zombie.write(log, b"late")) is ErrorCode.INVALID_PRODUCER_EPOCH
    writer.write(log, b"2")
    assert writer.sequence == 1


def test_a_marker_of_version_2_has_a_higher_epoch_than_what_it_ends(log: Log) -> None:
    writer = Writer(1, epoch=4)
    writer.write(log, b"1")
    writer.epoch -= 1
    assert refusal(lambda: writer.end(log, commit=True, version=2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    writer.end(log, commit=True, version=2)
    writer.epoch -= 1
    writer.end(log, commit=True, version=2)  # the answer was lost, and the marker comes again
    assert committed(log) == [b"1"]


def test_a_replaced_coordinator_is_fenced(log: Log) -> None:
    writer = Writer(1)
    writer.write(log, b"1")
    writer.end(log, commit=True, coordinator_epoch=5)
    writer.write(log, b"2")
    late = refusal(lambda: writer.end(log, commit=False, coordinator_epoch=4))
    assert late is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    writer.end(log, commit=True, coordinator_epoch=5)


def test_a_producer_with_an_open_transaction_is_not_forgotten() -> None:
    clock = StillClock()
    log = open_log(sim_disk(), clock)
    open_, idle = Writer(1), Writer(2)
    open_.write(log, b"1")
    idle.write(log, b"2")
    idle.end(log, commit=True)
    clock.pass_ms(48 * 3_600_000)
    log.expire()
    (producer,) = log.producers.active()
    assert (producer.producer_id, producer.transaction_start_offset) == (1, 0)


# Starts


@pytest.mark.parametrize("stop", ["clean", "killed"])
def test_a_start_knows_what_is_open_and_what_was_aborted(stop: str) -> None:
    disk, clock = sim_disk(), StillClock()
    changes = settings(segment_bytes=400, index_interval_bytes=100)
    log = open_log(disk, clock, settings=changes)
    writers = [Writer(number) for number in range(1, 4)]
    for turn in range(12):
        writer = writers[turn % 3]
        writer.write(log, b"%d" % turn + bytes(60))
        if turn % 4 != 3:
            writer.end(log, commit=turn % 2 == 0, coordinator_epoch=turn)
    expected = committed(log), log.last_stable_offset, log.producers.active(), log.aborted_between(0, 1000)
    if stop == "clean":
        log.close()
    log = open_log(disk, clock, settings=changes, clean=stop == "clean")
    found = committed(log), log.last_stable_offset, log.producers.active(), log.aborted_between(0, 1000)
    assert found == expected


def test_a_cut_opens_the_transactions_again_whose_markers_it_takes() -> None:
    log = open_log(sim_disk(), settings=settings(segment_bytes=200))
    one, two = Writer(1), Writer(2)
    one.write(log, b"1" + bytes(100))
    one.end(log, commit=False)
    two.write(log, b"2" + bytes(100))
    end = two.end(log, commit=False)
    log.truncate_to(end.base_offset)
    assert log.last_stable_offset == 2
    assert [each.producer_id for each in log.aborted_between(0, 100)] == [1]


def test_a_damaged_index_is_made_anew_at_the_next_start() -> None:
    disk, clock = sim_disk(), StillClock()
    log = open_log(disk, clock, settings=settings(segment_bytes=200))
    writer = Writer(1)
    for number in range(6):
        writer.write(log, b"%d" % number + bytes(100))
        writer.end(log, commit=number % 2 == 0)
    expected = log.aborted_between(0, 100)
    log.close()
    names = [name for name in disk.list_dir(PATH) if name.endswith(".txnindex")]
    for name in names:
        disk.create(f"{PATH}/{name}").append(b"damage")
    log = open_log(disk, clock, settings=settings(segment_bytes=200), clean=True)
    assert (len(names), log.aborted_between(0, 100)) == (3, expected)
    assert len(records(log)) == 12


def test_expired_segments_take_their_index_along() -> None:
    disk, clock = sim_disk(), StillClock()
    log = open_log(disk, clock, settings=settings(segment_bytes=200, retention_ms=1000))
    writer = Writer(1)
    for number in range(4):
        writer.write(log, b"%d" % number + bytes(100))
        writer.end(log, commit=False)
    clock.pass_ms(10_000)
    log.expire()
    log.remove_expired()
    assert [name for name in disk.list_dir(PATH) if name.endswith(".txnindex")] == []
    assert log.aborted_between(log.log_start_offset, 1000) == []
