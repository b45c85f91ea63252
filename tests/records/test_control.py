"""Markers, byte by byte as Apache Kafka 4.2 writes them."""

from __future__ import annotations

import pytest

from penstock.records.batch import CorruptBatch, build, read_header
from penstock.records.control import EndMarker, encode_marker, read_marker
from penstock.records.record import Record, encode_batch


def marker(*, commit: bool = True, coordinator_epoch: int = 3) -> bytearray:
    return encode_marker(
        commit, producer_id=1, producer_epoch=2, coordinator_epoch=coordinator_epoch, timestamp_ms=4
    )


def test_a_marker_is_a_control_batch_with_one_record_of_type_and_coordinator_epoch() -> None:
    batch = marker()
    header = read_header(batch)
    assert len(batch) == 78
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    # length, attributes, two deltas, key 00000001 (version 0, commit), value 0000 00000003, no headers
    assert batch[61:].hex() == "20000000080000000" + "10c00000000000300"


@pytest.mark.parametrize("commit", [True, False])
def test_what_was_written_is_read(commit: bool) -> None:
    assert read_marker(marker(commit=commit, coordinator_epoch=9)) == EndMarker(commit, 9)


def test_a_control_batch_that_the_cleaner_emptied_says_nothing() -> None:
    header = read_header(marker())
    assert read_marker(build(header._replace(records_count=0), b"")) is None


def test_other_control_records_say_nothing_of_transactions() -> None:
    leader_change = encode_batch([Record(b"\x00\x00\x00\x02", b"")], control=True)
    assert read_marker(leader_change) is None


@pytest.mark.parametrize("record", [Record(None, b""), Record(b"\x00", b""), Record(b"\0\0\0\1", b"\0")])
def test_a_control_record_that_is_cut_short_is_refused(record: Record) -> None:
    with pytest.raises(CorruptBatch):
        read_marker(encode_batch([record], control=True, transactional=True))
