"""Compaction of logs with transactions: aborted data goes, what counts stays, markers go last."""

from __future__ import annotations

import pytest

from penstock.records.control import read_marker
from penstock.storage.aborted import Aborted
from tests.storage.builders import headers, sim_disk
from tests.storage.compacted import Compacted
from tests.storage.transactional import Writer, committed_records

HOUR_MS = 3_600_000


@pytest.fixture
def topic() -> Compacted:
    return Compacted(sim_disk(), delete_retention_ms=24 * HOUR_MS)


def state(topic: Compacted) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in committed_records(topic.log)}


def markers(topic: Compacted) -> list[int]:
    return [header.base_offset for header in headers(topic.log) if header.is_control]


def settle(topic: Compacted) -> None:
    """Compact until nothing changes, with time enough for every marker to go."""
    for _ in range(4):
        topic.clock.pass_ms(25 * HOUR_MS)
        topic.put((b"filler", b"x"))
        topic.seal()
        while topic.clean():
            pass


def test_an_aborted_value_never_displaces_the_one_in_force(topic: Compacted) -> None:
    writer = Writer(1)
    writer.write(topic.log, (b"a", b"good"))
    writer.end(topic.log, commit=True)
    writer.write(topic.log, (b"a", b"bad"))
    writer.end(topic.log, commit=False)
    topic.put((b"z", b""))
    topic.seal()
    assert topic.clean()
    assert topic.cleaner.uncleanable() == {}
    assert state(topic) == {b"a": b"good", b"z": b""}
    # The last batch of the aborted transaction keeps the producer's sequence, as an empty one.
    assert [(header.base_offset, header.records_count) for header in headers(topic.log)] == [
        *((0, 1), (1, 1), (2, 0), (3, 1), (4, 1))
    ]
    assert topic.log.aborted_between(0, 100) == [Aborted(1, 2, 3, 4)]


def test_a_marker_goes_when_its_data_is_gone_and_time_has_passed(topic: Compacted) -> None:
    writer, other = Writer(1), Writer(2)
    writer.write(topic.log, (b"a", b"1"))
    writer.end(topic.log, commit=False)
    writer.write(topic.log, (b"a", b"2"))
    writer.end(topic.log, commit=True)
    other.write(topic.log, (b"a", b"3"))
    other.end(topic.log, commit=True)
    topic.put((b"z", b""))
    topic.seal()
    topic.clean()
    assert markers(topic) == [1, 3, 5]  # the data was there when this round began
    topic.put((b"z", b""))
    topic.seal()
    topic.clean()
    assert markers(topic) == [1, 3, 5]
    (dated,) = [header for header in headers(topic.log) if header.base_offset == 1]
    assert dated.delete_horizon_ms == topic.clock.now_ms() + 24 * HOUR_MS
    topic.clock.pass_ms(25 * HOUR_MS)
    topic.put((b"z", b""))
    topic.seal()
    topic.clean()
    assert 1 not in markers(topic)
    assert state(topic) == {b"a": b"3", b"z": b""}
    assert topic.log.aborted_between(0, 100) == []


def test_a_dated_marker_says_what_it_said(topic: Compacted) -> None:
    writer = Writer(1)
    writer.end(topic.log, commit=False, coordinator_epoch=7)
    topic.put((b"z", b""))
    topic.seal()
    topic.clean()
    piece = topic.log.read(0, 1 << 20)
    assert piece is not None
    marker = read_marker(piece.read())
    assert marker is not None
    assert (marker.commit, marker.coordinator_epoch) == (False, 7)


def test_nothing_of_an_open_transaction_is_touched(topic: Compacted) -> None:
    topic.put((b"a", b"1"))
    topic.seal()
    writer = Writer(1)
    writer.write(topic.log, (b"a", b"2"))
    topic.put((b"a", b"3"))
    topic.seal()
    while topic.clean():
        pass
    assert [value for _, _, value in topic.found()] == [b"1", b"2", b"3"]
    writer.end(topic.log, commit=True)
    topic.put((b"z", b""))
    topic.seal()
    while topic.clean():
        pass
    assert [value for _, key, value in topic.found() if key == b"a"] == [b"3"]


def test_after_all_is_settled_the_epoch_still_fences(topic: Compacted) -> None:
    writer = Writer(1)
    for number in range(5):
        writer.write(topic.log, (b"a", b"%d" % number))
        writer.end(topic.log, commit=number % 2 == 0, version=2)
    settle(topic)
    assert state(topic) == {b"a": b"4", b"filler": b"x"}
    topic.logs.close()
    topic.open()
    assert state(topic) == {b"a": b"4", b"filler": b"x"}


def test_an_index_that_lost_its_last_entry_does_not_keep_the_old_ones(topic: Compacted) -> None:
    writer = Writer(1)
    writer.write(topic.log, (b"a", b"1"))
    writer.end(topic.log, commit=False)
    writer.write(topic.log, (b"b", b"2"))
    writer.end(topic.log, commit=True)
    topic.seal()
    settle(topic)
    assert topic.log.aborted_between(0, 1000) == []
    # What the producer writes from now on must not be taken for a part of the aborted transaction.
    writer.write(topic.log, (b"c", b"3"))
    writer.end(topic.log, commit=True)
    assert state(topic) == {b"b": b"2", b"c": b"3", b"filler": b"x"}
