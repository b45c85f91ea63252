"""What the tests of transactions in a log build with: producers that verify, markers, and a reader of
committed records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.records.batch import iter_headers
from penstock.records.control import encode_marker, read_marker
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.storage.aborted import Aborted
from penstock.storage.log import Log
from penstock.storage.outcomes import Appended
from tests.storage.builders import NOW_MS


class Writer:
    """A transactional producer as the log meets it: one epoch, sequences that follow each other."""

    def __init__(self, producer_id: int, epoch: int = 0) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = 0

    def write(self, log: Log, *items: bytes | tuple[bytes, bytes | None], **options: Any) -> Appended:
        """One batch; a value alone has the key `key`."""
        pairs = [item if isinstance(item, tuple) else (b"key", item) for item in items]
        now_ms = log.now_ms()
        batch = encode_batch(
            [Record(*pair, timestamp_ms=now_ms) for pair in pairs],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=options.pop("transactional", True),
        )
        guard = log.producers.begin_verification(
            self.producer_id, self.epoch, self.sequence, epoch_bump=False, now_ms=now_ms
        )
        epoch = max(0, log.epochs.latest)
        appended = log.append_produced(log.examine(memoryview(batch)), leader_epoch=epoch, guard=guard)
        self.sequence += len(pairs)
        return appended

    def end(self, log: Log, *, commit: bool, coordinator_epoch: int = 0, version: int = 1) -> Appended:
        if version >= 2:
            self.epoch, self.sequence = self.epoch + 1, 0
        batch = encode_marker(
            commit,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=log.now_ms(),
        )
        return log.append_marker(
            memoryview(batch),
            leader_epoch=max(0, log.epochs.latest),
            coordinator_epoch=coordinator_epoch,
            transaction_version=version,
        )


def committed(log: Log, max_bytes: int = 1 << 20) -> list[bytes | None]:
    """The values that a consumer under read_committed sees, by Kafka's rules for consumers."""
    return [record.value for record in committed_records(log, max_bytes)]


def committed_records(log: Log, max_bytes: int = 1 << 20) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while True:
        piece, aborted = log.read_committed(offset, max_bytes)
        if piece is None:
            return found
        taken, offset = sift(piece.read(), aborted, offset)
        found += taken


def sift(data: bytes, aborted: Iterable[Aborted], offset: int) -> tuple[list[Record], int]:
    """What counts of one answer, and where the next one begins."""
    ahead = sorted(aborted, key=lambda each: each.first_offset)
    producers: set[int] = set()
    found: list[Record] = []
    for position, header in iter_headers(data):
        while ahead and ahead[0].first_offset <= header.last_offset:
            producers.add(ahead.pop(0).producer_id)
        if header.is_control:
            marker = read_marker(data, position)
            if marker is not None and not marker.commit:
                producers.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in producers):
            found += [record for record in decode_batch(data, position) if record.offset >= offset]
        offset = header.next_offset
    return found, offset


def plain(log: Log, value: bytes, timestamp_ms: int = NOW_MS) -> Appended:
    batch = encode_batch([Record(b"key", value, timestamp_ms=timestamp_ms)])
    return log.append_produced(log.examine(memoryview(batch)), leader_epoch=0)
