"""Rule 2 for compacted topics: the last acknowledged value of each key is there."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.history.events import Isolation, Partition, ReadRecord
from penstock.testing.history.ledger import Ledger, Operation, Outcome, value_of
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.violation import Rule, Violation

Key = tuple[Partition, bytes | None]


def last_of_each_key_is_there(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """A later record of the key may stand in its place, unless its transaction was aborted. A tombstone may
    be gone if everything before it is gone, too."""
    if not ledger.history.compacted:
        return
    lasts = _last_acked(ledger)
    records = _records(ledger, {key[0] for key in lasts})
    for key, send in lasts.items():
        offset = send.offset
        assert offset is not None
        partition, (oldest, newest) = key[0], records.get(key, (None, None))
        final = ledger.best_final(partition, Isolation.READ_UNCOMMITTED)
        if final is not None and offset < final.log_start_offset:
            continue
        if newest is not None and newest.offset >= offset:
            continue  # this value, or a later one; that offsets hold one value is rule 1
        if send.request.tombstone and oldest is None:
            continue
        yield _stale(key, send, offset, newest)


def _last_acked(ledger: Ledger) -> dict[Key, Operation]:
    """By offset; what was aborted does not count."""
    lasts: dict[Key, Operation] = {}
    for send in ledger.sends:
        offset = send.offset
        if offset is None or not ledger.is_compacted(send.request.partition):
            continue
        transaction = ledger.transaction_of(value_of(send))
        if transaction is not None and transaction.outcome is not Outcome.COMMITTED:
            continue
        key = (send.request.partition, send.request.key)
        before = lasts[key].offset if key in lasts else None
        if before is None or offset > before:
            lasts[key] = send
    return lasts


def _records(
    ledger: Ledger, partitions: set[Partition]
) -> dict[Key, tuple[ReadRecord | None, ReadRecord | None]]:
    """The first and the last record of each key that counts."""
    found: dict[Key, tuple[ReadRecord | None, ReadRecord | None]] = {}
    for partition in partitions:
        final = ledger.best_final(partition, Isolation.READ_UNCOMMITTED)
        for record in final.records if final is not None else ():
            transaction = ledger.transaction_of(record.value)
            if transaction is not None and transaction.outcome is Outcome.ABORTED:
                continue
            key = (partition, record.key)
            oldest, newest = found.get(key, (None, None))
            if oldest is None or record.offset < oldest.offset:
                oldest = record
            if newest is None or record.offset > newest.offset:
                newest = record
            found[key] = (oldest, newest)
    return found


def _stale(key: Key, send: Operation, offset: int, newest: ReadRecord | None) -> Violation:
    what = "tombstone" if send.request.tombstone else "value"
    rest = "nothing of the key is there" if newest is None else f"only offset {newest.offset} is there"
    return Violation(
        Rule.ACKED_IS_THERE,
        f"{value_of(send)}, the last {what} of key {key[1]!r}, was acknowledged at offset {offset}, and "
        f"{rest}",
        key[0],
        (offset,),
        (value_of(send),) if newest is None else (value_of(send), newest.value),
        (send.invoked, send.ended),
    )
