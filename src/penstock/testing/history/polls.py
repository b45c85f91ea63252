"""Rule 8: within an assignment a consumer goes forwards and leaves nothing out."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from penstock.testing.history.events import Assign, Isolation, Kind, Partition, ReadRecord, Reset
from penstock.testing.history.ledger import Ledger, Operation, Told
from penstock.testing.history.sightings import Sightings, final_name
from penstock.testing.history.violation import Rule, Violation, shown

Reading = tuple[str, Partition]


class _Position(NamedTuple):
    """Where a consumer stands in a partition: the last offset it has had, and the event in which."""

    offset: int
    event: int


def contiguous_polls(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    """Left out is what stands between two polled offsets in the final read as this consumer sees it; markers,
    aborted and compacted records are no gaps. A subscribed consumer may skip: a rebalance inside a poll moves
    it. Nobody may go back without a new assignment. A poll of which nobody knows may have moved its
    client."""
    sweep = _Sweep(ledger)
    moments: list[Operation | Told] = [poll for poll in ledger.polls if poll.kind is not Kind.FAIL]
    moments += [told for told in ledger.facts if not isinstance(told.fact, Reset)]
    moments.sort(key=_when)
    for moment in moments:
        if isinstance(moment, Told):
            sweep.assign(moment)
        else:
            yield from sweep.poll(moment)
    yield from _final_reads(ledger)


def _when(moment: Operation | Told) -> int:
    if isinstance(moment, Told):
        return moment.event
    return moment.ended if moment.is_ok else moment.invoked


class _Sweep:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._positions: defaultdict[str, dict[Partition, _Position]] = defaultdict(dict)
        self._subscribed: set[Reading] = set()
        self._readable: dict[tuple[Partition, Isolation], list[int]] = {}

    def assign(self, told: Told) -> None:
        fact = told.fact
        reading = (told.client, fact.partition)
        self._positions[told.client].pop(fact.partition, None)
        self._subscribed.discard(reading)
        if isinstance(fact, Assign):
            if fact.start is not None:
                self._positions[told.client][fact.partition] = _Position(fact.start - 1, told.event)
            if fact.subscribed:
                self._subscribed.add(reading)

    def poll(self, poll: Operation) -> Iterator[Violation]:
        positions = self._positions[poll.client]
        if not poll.is_ok:
            positions.clear()
            return
        for record in poll.result.records:
            partition, offset, _, _ = record
            position = positions.get(partition)
            if position is not None and offset != position.offset + 1:
                yield from self._jump(poll, record, position)
            positions[partition] = _Position(offset, poll.ended)

    def _jump(self, poll: Operation, record: ReadRecord, position: _Position) -> Iterator[Violation]:
        events = (position.event, poll.ended)
        if record.offset <= position.offset:
            yield Violation(
                Rule.CONTIGUOUS_POLLS,
                f"{poll.client} was at offset {position.offset} and got offset {record.offset}, "
                f"{shown(record.value)}, within one assignment",
                record.partition,
                (position.offset, record.offset),
                (record.value,),
                events,
            )
        elif (poll.client, record.partition) not in self._subscribed:
            skipped = self._between(record.partition, poll.request.isolation, position.offset, record.offset)
            if skipped:
                yield Violation(
                    Rule.CONTIGUOUS_POLLS,
                    f"{poll.client} was at offset {position.offset} and got offset {record.offset}, "
                    f"{shown(record.value)}, though {len(skipped)} readable records stand between, the first "
                    f"at offset {skipped[0]}",
                    record.partition,
                    (position.offset, *skipped[:10], record.offset),
                    (record.value,),
                    events,
                )

    def _between(self, partition: Partition, isolation: Isolation, low: int, high: int) -> list[int]:
        readable = self._readable.get((partition, isolation))
        if readable is None:
            final = self._ledger.best_final(partition, isolation)
            readable = sorted(record.offset for record in final.records) if final is not None else []
            self._readable[partition, isolation] = readable
        begin = bisect_right(readable, low)
        return readable[begin : bisect_right(readable, high - 1, lo=begin)]


def _final_reads(ledger: Ledger) -> Iterator[Violation]:
    """A final read is one assignment, too."""
    for final in ledger.history.finals:
        for before, record in pairwise(final.records):
            if record.offset <= before.offset:
                yield Violation(
                    Rule.CONTIGUOUS_POLLS,
                    f"offset {record.offset}, {shown(record.value)}, came after offset {before.offset}, read "
                    f"{final_name(final)}",
                    final.partition,
                    (before.offset, record.offset),
                    (before.value, record.value),
                )
