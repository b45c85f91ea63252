"""Offsets of the source to offsets of the target: the part of MirrorMaker 2's `OffsetSyncStore`.

A store keeps the newest sync of each partition, and older ones at distances that grow with their age. A group
that is close to the end of its topic is translated closely, one far behind more coarsely. The answer is never
too far: a group may read records again and skips none. MirrorMaker 2 keeps fewer syncs: a group may read
several times as many records again there as it is behind. Here what is forgotten costs at most half as many.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from penstock.mirror.layouts import OffsetSync
from penstock.protocol.topic_partition import TopicPartition

TOO_OLD: Final = -1
"""The answer for an offset before the oldest sync that is kept."""
_WORTH_KEEPING: Final = 2
"""A sync goes when the gap that it leaves is at most the distance from the newest, divided by this. So the
distance grows by half with every second sync that is kept: there are at most some 220 of a partition."""


class OffsetSyncs:
    """All syncs of one flow. `take` them in the order of the topic, then `translate`."""

    def __init__(self, *, only_newest_at_start: bool = False) -> None:
        self._syncs: dict[TopicPartition, list[OffsetSync]] = {}
        """The newest first; no two have the same offset of the source."""
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
            self._syncs[sync.place] = [sync]
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


def _with_newest(known: list[OffsetSync], newest: OffsetSync) -> list[OffsetSync]:
    """With the newest in front, and without those that are not worth their place any more. The oldest stays:
    before it nothing can be translated."""
    older = known[1:] if known[0].upstream == newest.upstream else known
    kept = [newest]
    for sync, following in pairwise(older):
        gap, distance = kept[-1].upstream - following.upstream, newest.upstream - kept[-1].upstream
        if gap * _WORTH_KEEPING > distance:
            kept.append(sync)
    return kept + older[-1:]
