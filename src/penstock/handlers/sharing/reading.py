"""From a partition's log to the records that one member of a share group gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.records.batch import BatchHeader, iter_headers
from penstock.replication.partition import Partition
from penstock.share.deliveries import Acquired, Range
from penstock.share.served import ServedPartition
from penstock.storage.aborted import Aborted


class Taken(NamedTuple):
    """Records of a partition, as batches of the log, and which of them the member has acquired."""

    records: bytes
    acquired: list[Acquired]


class Share(NamedTuple):
    """How much a member takes, and on which terms."""

    member_id: str
    most_bytes: int
    most_records: int
    strict: bool
    lock_until: float
    committed: bool


def take(served: ServedPartition, partition: Partition, share: Share, now: float) -> Taken | None:
    """What the member gets of this partition; None when there is nothing for it now.

    The log is read without the lock of the share partition. Another member may take the same records
    meanwhile: then they are not acquired here, and the next attempt reads further on.
    """
    before = -1
    while True:
        offset = served.next_offset(now, partition.log.log_start_offset)
        if offset is None or offset <= before:
            return None
        taken, found = _take_from(served, partition, share, offset)
        if taken is not None or not found:
            return taken
        before = offset  # nothing of what was read is for members: look behind it


def _take_from(
    served: ServedPartition, partition: Partition, share: Share, offset: int
) -> tuple[Taken | None, bool]:
    """What the member gets from this offset on, and whether there was anything at all."""
    fetched = partition.fetch(
        offset, share.most_bytes, at_least_one=True, epoch=served.leader_epoch, committed=share.committed
    )
    if fetched.records is None or not fetched.records.size:
        return None, False
    data = fetched.records.read()
    batches = list(iter_headers(data))
    acquired = served.acquire(
        share.member_id,
        list(_ranges(batches, fetched.aborted or ())),
        share.most_records,
        share.lock_until,
        strict=share.strict,
    )
    return (Taken(_cut(data, batches, acquired), acquired) if acquired else None), bool(batches)


def _ranges(batches: list[tuple[int, BatchHeader]], aborted: Iterable[Aborted]) -> Iterator[Range]:
    """The offsets of each batch. Markers, and data of aborted transactions, are hidden: the answer has no
    list of aborted transactions by which a member could pass over them."""
    coming = sorted(aborted, key=lambda each: each.first_offset)
    open_ones: set[int] = set()
    for _, header in batches:
        while coming and coming[0].first_offset <= header.last_offset:
            open_ones.add(coming.pop(0).producer_id)
        gone = header.is_transactional and header.producer_id in open_ones
        if header.is_control:
            open_ones.discard(header.producer_id)  # the marker ends what was aborted
        yield Range(header.base_offset, header.last_offset, gone or header.is_control)


def _cut(data: bytes, batches: list[tuple[int, BatchHeader]], acquired: list[Acquired]) -> bytes:
    """From the first to the last batch of which something was acquired."""
    first, last = acquired[0].first_offset, acquired[-1].last_offset
    within = [
        (position, position + header.size_bytes)
        for position, header in batches
        if header.last_offset >= first and header.base_offset <= last
    ]
    return data[within[0][0] : within[-1][1]]
