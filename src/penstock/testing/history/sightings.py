"""Every place where a value was seen: in an acknowledgement, a poll, a final read or a replica's file.

One pass for the rules that ask "what stands at this offset, and where else does this value stand".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

from penstock.testing.history.events import Acked, FinalRead, Partition, ReadRecord, Seen
from penstock.testing.history.ledger import Ledger, Operation

MOST_KEPT: Final = 1000
"""Of conflicts and of repetitions; one is enough to fail."""

Origin = int | str
"""The event in which a value was seen, or the name of what was read at the end."""


class Sighting(NamedTuple):
    partition: Partition
    offset: int
    value: Seen
    origin: Origin


class Sightings:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.first_at: dict[Partition, dict[int, tuple[Seen, Origin]]] = defaultdict(dict)
        self.conflicts: list[tuple[Sighting, Sighting]] = []
        """The first sight of an offset, and another value at the same."""
        self.first_read: dict[Seen, tuple[Partition, int, Origin]] = {}
        """Where each value was first read; acknowledgements are not reads."""
        self.repeats: list[tuple[Sighting, Sighting]] = []
        """The first place of a value, and another."""
        self._acks()
        for poll in ledger.polls:
            if poll.is_ok:
                self._read(poll.result.records, poll.ended)
        for final in ledger.history.finals:
            self._read(final.records, final_name(final))
        for replica in ledger.history.replicas:
            below = (record for record in replica.records if record.offset < replica.high_watermark)
            self._read(below, f"in the file of broker {replica.broker}")

    def offset_of(self, send: Operation) -> int | None:
        """Where a sent value is, by its acknowledgement or else by the first who read it."""
        offset = send.offset
        if offset is not None:
            return offset
        read = self.first_read.get(send.request.value)
        return read[1] if read is not None and read[0] == send.request.partition else None

    def told(self, origin: Origin) -> str:
        """How somebody came to see a value, in words."""
        if isinstance(origin, str):
            return f"read {origin}"
        event = self._ledger.history.events[origin]
        verb = "acknowledged to" if isinstance(event.body, Acked) else "polled by"
        return f"{verb} {event.client}"

    @cached_property
    def reads(self) -> list[Sighting]:
        """Every first read, and the repetitions."""
        firsts = [Sighting(place[0], place[1], value, place[2]) for value, place in self.first_read.items()]
        return firsts + [again for _, again in self.repeats]

    def _acks(self) -> None:
        for send in self._ledger.sends:
            offset = send.offset
            if offset is not None:
                self._place(send.request.partition, offset, send.request.value, send.ended)

    def _read(self, records: Iterable[ReadRecord], origin: Origin) -> None:
        first_read = self.first_read
        for partition, offset, value, _ in records:
            self._place(partition, offset, value, origin)
            known = first_read.get(value)
            if known is None:
                first_read[value] = (partition, offset, origin)
            elif (known[1] != offset or known[0] != partition) and len(self.repeats) < MOST_KEPT:
                first = Sighting(known[0], known[1], value, known[2])
                self.repeats.append((first, Sighting(partition, offset, value, origin)))

    def _place(self, partition: Partition, offset: int, value: Seen, origin: Origin) -> None:
        places = self.first_at[partition]
        known = places.get(offset)
        if known is None:
            places[offset] = (value, origin)
        elif known[0] != value and len(self.conflicts) < MOST_KEPT:
            first = Sighting(partition, offset, *known)
            self.conflicts.append((first, Sighting(partition, offset, value, origin)))


def final_name(final: FinalRead) -> str:
    return f"at the end under {final.isolation}"


def events_of(*origins: Origin) -> tuple[int, ...]:
    """The events among origins."""
    return tuple(origin for origin in origins if isinstance(origin, int))
