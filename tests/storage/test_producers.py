"""Idempotent producers: what comes next, what was there before, what is missing; Kafka's snapshot file."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import BatchHeader, read_header
from penstock.records.control import EndMarker
from penstock.storage.producers import Producers
from tests.storage.builders import NOW_MS, batch

DAY_MS = 86_400_000
LARGEST = 2**31 - 1


def sent(
    sequence: int, *, count: int = 1, epoch: int = 0, producer_id: int = 7, control: bool = False
) -> BatchHeader:
    values = [b"v"] * count
    return read_header(
        batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, control=control)
    )


class Journal:
    """A log's view of its producers: checked batches are appended."""

    def __init__(self) -> None:
        self.producers = Producers(DAY_MS)
        self.end = 0

    def send(self, header: BatchHeader, timestamp: int = NOW_MS) -> tuple[int, bool]:
        """(base offset, whether it is a duplicate)"""
        first_copy = self.producers.check(header)
        if first_copy is not None:
            return first_copy.base_offset, True
        self.producers.replay(header, self.end, timestamp)
        self.end += header.records_count
        return self.end - header.records_count, False

    def refusal(self, header: BatchHeader) -> ErrorCode:
        with pytest.raises(KafkaError) as caught:
            self.send(header)
        return caught.value.code


def test_sequences_that_follow_each_other_are_appended() -> None:
    journal = Journal()
    assert [journal.send(sent(0, count=3)), journal.send(sent(3)), journal.send(sent(4))] == [
        *((0, False), (3, False), (4, False))
    ]


def test_each_of_the_last_five_batches_is_recognised_when_it_comes_again() -> None:
    journal = Journal()
    for sequence in range(6):
        journal.send(sent(sequence))
    assert [journal.send(sent(sequence)) for sequence in range(1, 6)] == [
        (sequence, True) for sequence in range(1, 6)
    ]


def test_a_batch_older_than_the_last_five_is_out_of_order() -> None:
    journal = Journal()
    for sequence in range(6):
        journal.send(sent(sequence))
    assert journal.refusal(sent(0)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_refused() -> None:
    journal = Journal()
    journal.send(sent(0))
    assert journal.refusal(sent(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_same_first_sequence_with_another_length_is_no_duplicate() -> None:
    journal = Journal()
    journal.send(sent(0, count=3))
    assert journal.refusal(sent(0, count=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_stale_epoch_is_fenced() -> None:
    journal = Journal()
    journal.send(sent(0, epoch=1))
    assert journal.refusal(sent(1, epoch=0)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_new_epoch_begins_at_sequence_zero() -> None:
    journal = Journal()
    journal.send(sent(0))
    journal.send(sent(1))
    assert journal.refusal(sent(2, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert journal.send(sent(0, epoch=1)) == (2, False)
    assert journal.send(sent(0, epoch=1)) == (2, True)


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert Journal().send(sent(500)) == (0, False)


def test_after_a_marker_alone_the_epoch_begins_at_zero() -> None:
    journal = Journal()
    journal.producers.replay_marker(sent(-1, epoch=3, control=True), EndMarker(True, 0), 0, NOW_MS)
    assert journal.refusal(sent(4, epoch=3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert journal.send(sent(0, epoch=3)) == (0, False)


def test_sequences_wrap_from_the_largest_to_zero() -> None:
    journal = Journal()
    journal.send(sent(LARGEST - 1, count=2))
    assert journal.send(sent(0)) == (2, False)
    assert journal.send(sent(LARGEST - 1, count=2)) == (0, True)


def test_a_batch_may_wrap_in_its_middle() -> None:
    journal = Journal()
    journal.send(sent(LARGEST, count=3))
    assert journal.send(sent(2)) == (3, False)
    assert journal.send(sent(LARGEST, count=3)) == (0, True)


def test_producers_do_not_know_each_other() -> None:
    journal = Journal()
    journal.send(sent(0, producer_id=1))
    assert journal.send(sent(0, producer_id=2)) == (1, False)


def test_a_silent_producer_is_forgotten_after_its_time() -> None:
    journal = Journal()
    journal.send(sent(0, producer_id=1), NOW_MS)
    journal.send(sent(0, producer_id=2), NOW_MS + 1)
    journal.producers.expire(NOW_MS + DAY_MS)
    assert len(journal.producers) == 1
    assert journal.send(sent(900, producer_id=1)) == (2, False)


def test_a_snapshot_brings_back_epochs_and_last_batches() -> None:
    journal = Journal()
    journal.send(sent(0, count=2))
    journal.send(sent(2, count=3))
    restored = Journal()
    restored.producers.load(journal.producers.to_bytes(), NOW_MS)
    restored.end = journal.end
    assert restored.send(sent(2, count=3)) == (2, True)
    assert restored.refusal(sent(6)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert restored.send(sent(5)) == (5, False)


def test_a_snapshot_has_kafkas_bytes() -> None:
    journal = Journal()
    journal.end = 100
    journal.send(sent(40, count=3, epoch=5))
    entries = struct.pack(">i", 1) + struct.pack(">qhiqiqiq", 7, 5, 42, 102, 2, NOW_MS, -1, -1)
    assert journal.producers.to_bytes() == struct.pack(">hI", 1, crc32c(entries)) + entries


def test_expired_producers_are_not_loaded() -> None:
    journal = Journal()
    journal.send(sent(0))
    journal.producers.load(journal.producers.to_bytes(), NOW_MS + DAY_MS)
    assert len(journal.producers) == 0


def test_every_flipped_byte_of_a_snapshot_is_noticed() -> None:
    journal = Journal()
    journal.send(sent(0))
    snapshot = bytearray(journal.producers.to_bytes())
    for position in range(len(snapshot)):
        snapshot[position] ^= 0x40
        with pytest.raises(ValueError, match="snapshot"):
            Producers(DAY_MS).load(bytes(snapshot), NOW_MS)
        snapshot[position] ^= 0x40
    for size in range(len(snapshot)):
        with pytest.raises(ValueError, match="snapshot"):
            Producers(DAY_MS).load(bytes(snapshot[:size]), NOW_MS)
