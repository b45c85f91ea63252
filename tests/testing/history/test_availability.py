"""A gap is counted from the last acknowledgement before a fault, for the partition that waits longest."""

from __future__ import annotations

from penstock.testing.history.availability import longest_gaps
from penstock.testing.history.events import Acked, Event, History, Kind, Partition, Send, Value


def history(acks: dict[int, list[float]]) -> History:
    """Acknowledgements of partitions at these times."""
    moments = sorted((time, number) for number, times in acks.items() for time in times)
    events: list[Event] = []
    for operation, (time, number) in enumerate(moments):
        send = Send(Partition("t", number), Value("c", 0, operation))
        events.append(Event(Kind.INVOKE, operation, "c", send, time))
        events.append(Event(Kind.OK, operation, "c", Acked(operation), time))
    return History(tuple(events))


def test_the_partition_that_waits_longest_counts() -> None:
    acked = history({0: [1, 2, 3, 4, 5], 1: [1, 2, 4.5, 5]})
    assert longest_gaps(acked, [2.5]) == [2.5]


def test_each_fault_has_its_own_gap() -> None:
    acked = history({0: [1, 2, 6, 7, 8, 9.5]})
    assert longest_gaps(acked, [2.5, 8.5]) == [4, 1.5]


def test_without_acknowledgements_there_is_no_gap_to_tell() -> None:
    assert longest_gaps(history({}), [1.0]) == [0.0]
