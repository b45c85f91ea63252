"""Rules 1, 2, 3 and 5: what stands at an offset, whether all that was promised is there, and once only."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.history.events import NO_TRANSACTION, FinalRead, Isolation, Kind, ReplicaLog
from penstock.testing.history.ledger import Ledger, Operation, value_of
from penstock.testing.history.sightings import Sighting, Sightings, events_of, final_name
from penstock.testing.history.violation import Rule, Violation, shown


def one_value_per_offset(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 1, across acknowledgements, polls, final reads and every replica's file below the high watermark;
    an offset that one replica lacks in the middle of its file is another value, too."""
    for first, other in sightings.conflicts:
        yield Violation(
            Rule.ONE_VALUE_PER_OFFSET,
            f"offset {first.offset} holds {shown(first.value)}, {sightings.told(first.origin)}, and "
            f"{shown(other.value)}, {sightings.told(other.origin)}",
            first.partition,
            (first.offset,),
            (first.value, other.value),
            events_of(first.origin, other.origin),
        )
    for replica in ledger.history.replicas:
        if not ledger.is_compacted(replica.partition):
            yield from _holes(ledger, replica)


def _holes(ledger: Ledger, replica: ReplicaLog) -> Iterator[Violation]:
    final = ledger.best_final(replica.partition, Isolation.READ_UNCOMMITTED)
    if final is None:
        return
    present = {record.offset for record in replica.records}
    begin = min(present, default=final.log_start_offset)
    for record in final.records:
        if begin <= record.offset < replica.high_watermark and record.offset not in present:
            yield Violation(
                Rule.ONE_VALUE_PER_OFFSET,
                f"offset {record.offset} holds {shown(record.value)}, read {final_name(final)}, and nothing "
                f"in the file of broker {replica.broker}, whose high watermark is {replica.high_watermark}",
                replica.partition,
                (record.offset,),
                (record.value,),
            )


def acked_is_there(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 2. What retention removed below the log start offset is forgiven; compacted topics have their own
    form, and records of transactions may be invisible under read_committed, which rule 10 judges."""
    values: dict[int, set[object]] = {}
    for send in ledger.sends:
        if not send.is_ok or ledger.is_compacted(send.request.partition):
            continue
        value, offset = send.request.value, send.offset
        for final in ledger.finals_of(send.request.partition):
            if final.isolation is Isolation.READ_COMMITTED and value.txn != NO_TRANSACTION:
                continue
            if offset is None:
                there = values.setdefault(id(final), {record.value for record in final.records})
                if value not in there and final.log_start_offset == 0:
                    yield _lost(ledger, sightings, send, final)
            elif offset >= final.log_start_offset:
                at = ledger.final_at[final.partition, final.isolation]
                if at.get(offset) != value:
                    yield _lost(ledger, sightings, send, final)


def _lost(ledger: Ledger, sightings: Sightings, send: Operation, final: FinalRead) -> Violation:
    value, offset = value_of(send), send.offset
    where = "" if offset is None else f" at offset {offset}"
    at = ledger.final_at[final.partition, final.isolation]
    read = sightings.first_read.get(value)
    found = read[1] if read is not None and at.get(read[1]) == value else None
    if found is not None:
        rest = f"stands at offset {found}"
    elif offset is not None and offset in at:
        rest = f"is lost: {shown(at[offset])} stands there"
    else:
        rest = "is lost"
    return Violation(
        Rule.ACKED_IS_THERE,
        f"{value} was acknowledged{where} and {rest}, read {final_name(final)} up to offset "
        f"{final.high_watermark}",
        final.partition,
        tuple(place for place in (offset, found) if place is not None),
        (value,),
        (send.invoked, send.ended),
    )


def read_was_sent(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 3: sent at all, to this partition, before it was read, and not refused for certain."""
    for read in sightings.reads:
        send = ledger.send_of.get(read.value)
        if send is None:
            yield _never_sent(read, sightings, "which nobody sent", ())
        elif send.request.partition != read.partition:
            yield _never_sent(read, sightings, f"which was sent to {send.request.partition}", (send.invoked,))
        elif send.kind is Kind.FAIL:
            events = (send.invoked, send.ended)
            yield _never_sent(read, sightings, "which was refused for certain", events)
        elif isinstance(read.origin, int) and read.origin < send.invoked:
            yield _never_sent(read, sightings, "before it was sent", (send.invoked,))


def _never_sent(read: Sighting, sightings: Sightings, why: str, events: tuple[int, ...]) -> Violation:
    return Violation(
        Rule.READ_WAS_SENT,
        f"offset {read.offset} holds {shown(read.value)}, {sightings.told(read.origin)}, {why}",
        read.partition,
        (read.offset,),
        (read.value,),
        (*events, *events_of(read.origin)),
    )


def no_duplicate(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 5. A producer that is not idempotent may repeat itself."""
    for first, again in sightings.repeats:
        send = ledger.send_of.get(first.value)
        if send is None or not send.request.idempotent or first.partition != again.partition:
            continue
        yield Violation(
            Rule.NO_DUPLICATE,
            f"{shown(first.value)} was sent once by an idempotent producer and stands at offset "
            f"{first.offset}, {sightings.told(first.origin)}, and at offset {again.offset}, "
            f"{sightings.told(again.origin)}",
            first.partition,
            (first.offset, again.offset),
            (first.value,),
            (send.invoked, *events_of(first.origin, again.origin)),
        )
