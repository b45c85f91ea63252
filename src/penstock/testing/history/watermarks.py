"""Rule 9: the high watermark and the last stable offset never go back."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.history.events import Isolation, Partition, Watermarks
from penstock.testing.history.ledger import Ledger
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.violation import Rule, Violation


class Highest:
    """The highest number that answers had told by each moment. Answers are added in the order in which they
    came; who asks gives the moment at which it asked, so that two answers under way at once are not compared.
    """

    def __init__(self) -> None:
        self._events: list[int] = []
        self._numbers: list[int] = []

    def add(self, event: int, number: int) -> None:
        """Only what is higher than all before need be kept."""
        if not self._numbers or number > self._numbers[-1]:
            self._events.append(event)
            self._numbers.append(number)

    def before(self, event: int) -> tuple[int, int] | None:
        """The highest number told before `event`, and the event that told it."""
        place = bisect_left(self._events, event) - 1
        return (self._numbers[place], self._events[place]) if place >= 0 else None


class _Look(NamedTuple):
    """An answer with watermarks: when it was asked for and when it came."""

    client: str
    asked: int
    came: int
    seen: Watermarks


def watermarks_grow(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    high: defaultdict[Partition, Highest] = defaultdict(Highest)
    stable: defaultdict[Partition, Highest] = defaultdict(Highest)
    for look in _looks(ledger):
        seen = look.seen
        yield from _compare(look, "high watermark", seen.high_watermark, high[seen.partition])
        if seen.last_stable_offset is not None:
            yield from _compare(look, "last stable offset", seen.last_stable_offset, stable[seen.partition])
            if seen.last_stable_offset > seen.high_watermark:
                yield _violation(
                    look,
                    f"the last stable offset {seen.last_stable_offset} is above the high watermark "
                    f"{seen.high_watermark}",
                    (seen.last_stable_offset, seen.high_watermark),
                    (look.came,),
                )


def _looks(ledger: Ledger) -> Iterator[_Look]:
    """In the order in which the answers came; the final reads last of all."""
    polls = [poll for poll in ledger.polls if poll.is_ok and poll.result.watermarks]
    for poll in sorted(polls, key=lambda poll: poll.ended):
        for seen in poll.result.watermarks:
            yield _Look(poll.client, poll.invoked, poll.ended, seen)
    end = len(ledger.history.events)
    for final in ledger.history.finals:
        if final.isolation is Isolation.READ_UNCOMMITTED:
            yield _Look("the final read", end, end, Watermarks(final.partition, final.high_watermark))


def _compare(look: _Look, name: str, number: int, highest: Highest) -> Iterator[Violation]:
    before = highest.before(look.asked)
    if before is not None and number < before[0]:
        message = f"the {name} went back from {before[0]} to {number}, as {look.client} saw"
        yield _violation(look, message, (before[0], number), (before[1], look.came))
    highest.add(look.came, number)


def _violation(look: _Look, message: str, offsets: tuple[int, ...], events: tuple[int, ...]) -> Violation:
    return Violation(Rule.WATERMARKS_GROW, message, look.seen.partition, offsets, (), events)
