"""How long nobody was served: gaps between acknowledgements, as a client saw them. Apart from safety, which
`check` judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from penstock.testing.history.events import Acked, Event, History, Kind, Partition, Send


def longest_gaps(history: History, moments: Iterable[float]) -> list[float]:
    """For each fault, begun at one of these times of the history: the longest time that any partition was
    without an acknowledgement, from the last one before it to the next fault."""
    begins = sorted(moments)
    ends = [*begins[1:], float("inf")]
    acks = _ack_times(history.events)
    return [
        max((_longest(times, begin, end) for times in acks.values()), default=0.0)
        for begin, end in zip(begins, ends, strict=True)
    ]


def _ack_times(events: Iterable[Event]) -> dict[Partition, list[float]]:
    sent: dict[int, Partition] = {}
    times: defaultdict[Partition, list[float]] = defaultdict(list)
    for event in events:
        if event.kind is Kind.INVOKE and isinstance(event.body, Send):
            sent[event.operation] = event.body.partition
        elif event.kind is Kind.OK and isinstance(event.body, Acked):
            times[sent.pop(event.operation)].append(event.time)
    return times


def _longest(times: list[float], begin: float, end: float) -> float:
    before = max((time for time in times if time <= begin), default=begin)
    during = [before, *(time for time in times if begin < time <= end)]
    return max((later - earlier for earlier, later in pairwise(during)), default=0.0)
