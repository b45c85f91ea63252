"""Offsets of the source to offsets of the target: what MirrorMaker 2's `OffsetSyncStore` knows and answers.

A store keeps 64 syncs for each partition: the newest, and older ones at distances that grow by powers of two.
A group that is close to the end of its topic is translated closely, one far behind more coarsely. The answer
is never too far: a group may read records again and skips none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.mirror.layouts import OffsetSync
from penstock.protocol.topic_partition import TopicPartition

KEPT: Final = 64
TOO_OLD: Final = -1
"""The answer for an offset before the oldest sync that is kept."""
_LONG: Final = (1 << 63) - 1


class OffsetSyncs:
    """All syncs of one flow. `take` them in the order of the topic, then `translate`."""

    def __init__(self, *, only_newest_at_start: bool = False) -> None:
        self._syncs: dict[TopicPartition, list[OffsetSync]] = {}
        self._starting = True
        self._only_newest = only_newest_at_start
        """Whether syncs from before the start are not trusted but the last: without the checkpoints of
        earlier runs an older one could move a group back."""

    def started(self) -> None:
        """Everything that was written before has been taken."""
        self._starting = False

    def take(self, sync: OffsetSync) -> None:
        known = self._syncs.get(sync.place)
        newest_only = self._starting and self._only_newest
        if known is None or newest_only or sync.upstream < known[0].upstream:
            # The first of its partition, or the source was rewound: what was known before means nothing.
            self._syncs[sync.place] = [sync] * KEPT
        else:
            self._syncs[sync.place] = _with_newest(known, sync)

    def take_all(self, syncs: Iterable[OffsetSync]) -> None:
        for sync in syncs:
            self.take(sync)

    def translate(self, place: TopicPartition, upstream: int) -> int | None:
        """The offset of the target at which a group goes on; `TOO_OLD`, or None when nothing is known."""
        if self._starting or place not in self._syncs:
            return None
        found = self.used(place, upstream)
        if found is None:
            return TOO_OLD
        # How many of the records behind the sync were copied is not known, but the next one stands after it.
        return found.downstream + (1 if upstream > found.upstream else 0)

    def used(self, place: TopicPartition, upstream: int) -> OffsetSync | None:
        """The sync that an offset is translated by: the newest at or before it."""
        return next((each for each in self._syncs.get(place, ()) if each.upstream <= upstream), None)

    def newest(self, place: TopicPartition) -> OffsetSync | None:
        syncs = self._syncs.get(place)
        return None if syncs is None else syncs[0]


def _with_newest(original: list[OffsetSync], newest: OffsetSync) -> list[OffsetSync]:
    """MirrorMaker 2's rules. A: the first is the newest. B: none is older than its place allows, 2^place
    offsets behind the one before. C: neighbours that differ are so far apart that they are worth two places.
    """
    syncs = list(original)
    replacement, at = newest, 0
    syncs[0] = newest
    for current in range(1, KEPT):
        previous = current - 1
        while True:
            old = original[at]
            separated = _apart(syncs[previous], old, previous)
            separated_from_next = current + 1 >= KEPT or _apart(old, syncs[current + 1], current)
            recent = _recent(syncs[previous], old, previous, current)
            promoted = recent and separated and separated_from_next
            if promoted:
                replacement = old
            duplicate = at + 1 < KEPT and old is original[at + 1]
            skipped = duplicate or not separated
            if promoted or skipped:
                at += 1
            if not (at < current and skipped):
                break
        if _recent(syncs[previous], syncs[current], previous, current):
            break  # it holds for all that follow, too
        syncs[current] = replacement
    return syncs


def _recent(one: OffsetSync, other: OffsetSync, i: int, j: int) -> bool:
    """Invariant B, with the overflow of Java's long."""
    bound = _wrapped(other.upstream + (_wrapped(1 << j) - (1 << i)))
    return one is other or bound < 0 or one.upstream <= bound


def _apart(one: OffsetSync, other: OffsetSync, i: int) -> bool:
    """Invariant C."""
    bound = _wrapped(other.upstream + (1 << max(i - 2, 0)))
    return one is other or (bound >= 0 and one.upstream >= bound)


def _wrapped(number: int) -> int:
    return ((number + _LONG + 1) & ((1 << 64) - 1)) - _LONG - 1
