"""Rules 6 and 7: the order of the log against the order of time and against each producer's own."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.history.events import Partition
from penstock.testing.history.ledger import Ledger, Operation, value_of
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.violation import Rule, Violation


def real_time_order(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 6: who is sent after another was acknowledged stands behind it. One sweep over both in the order
    of time, with the highest acknowledged offset of each partition at hand."""
    acked = sorted((send for send in ledger.sends if send.offset is not None), key=_ended)
    highest: dict[Partition, tuple[int, Operation]] = {}
    done = 0
    for send in ledger.sends:
        while done < len(acked) and acked[done].ended < send.invoked:
            before = acked[done]
            offset = before.offset
            assert offset is not None
            known = highest.get(before.request.partition)
            if known is None or offset > known[0]:
                highest[before.request.partition] = (offset, before)
            done += 1
        floor = highest.get(send.request.partition)
        offset = sightings.offset_of(send)
        if floor is not None and offset is not None and offset <= floor[0]:
            yield _overtaken(floor[1], floor[0], send, offset)


def _ended(send: Operation) -> int:
    return send.ended


def _overtaken(before: Operation, before_offset: int, send: Operation, offset: int) -> Violation:
    return Violation(
        Rule.REAL_TIME_ORDER,
        f"{value_of(before)} was acknowledged at offset {before_offset} before {value_of(send)} was sent, "
        f"which stands at offset {offset}",
        send.request.partition,
        (before_offset, offset),
        (value_of(before), value_of(send)),
        (before.invoked, before.ended, send.invoked),
    )


def producer_order(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Rule 7: what one idempotent producer sent to a partition stands in the order of sending."""
    last: dict[tuple[str, Partition], tuple[int, Operation]] = {}
    for send in ledger.sends:
        if not send.request.idempotent:
            continue
        offset = sightings.offset_of(send)
        if offset is None:
            continue
        place = (send.client, send.request.partition)
        before = last.get(place)
        if before is None or offset > before[0]:
            last[place] = (offset, send)
        elif offset < before[0]:
            yield Violation(
                Rule.PRODUCER_ORDER,
                f"{send.client} sent {value_of(before[1])} before {value_of(send)}; they stand at offsets "
                f"{before[0]} and {offset}",
                send.request.partition,
                (before[0], offset),
                (value_of(before[1]), value_of(send)),
                (before[1].invoked, send.invoked),
            )
