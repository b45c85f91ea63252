"""Which pairs of offsets are worth telling: close to each other at the end of what was copied, and further
apart towards its start, as the store of the reader keeps them (`translation`). Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from penstock.mirror.layouts import OffsetSync
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.relaying import Piece


def sync_points(place: TopicPartition, pieces: Sequence[Piece], lag_max: int) -> list[OffsetSync]:
    """The first record, the last one, and those `lag_max`, 2 `lag_max`, 4 `lag_max`… before the last."""
    if not pieces:
        return []
    first, last = pieces[0], pieces[-1]
    starts = [piece.upstream for piece in pieces]
    step, wanted = max(1, lag_max), [last.last_upstream]
    while last.last_upstream - step > first.upstream:
        wanted.append(last.last_upstream - step)
        step *= 2
    wanted.append(first.upstream)
    points = {_at_or_before(pieces, starts, offset) for offset in wanted}
    return [OffsetSync(place, *point) for point in sorted(points)]


def _at_or_before(pieces: Sequence[Piece], starts: Sequence[int], offset: int) -> tuple[int, int]:
    piece = pieces[bisect_right(starts, offset) - 1]
    if piece.last_upstream <= offset:
        return piece.last_upstream, piece.downstream + piece.records - 1
    if piece.is_dense:
        return offset, piece.downstream + offset - piece.upstream
    return piece.upstream, piece.downstream


class PendingSyncs:
    """Syncs that wait to be told. A partition that has moved far is due at once; others wait for the next
    turn, and only the newest of each counts then."""

    def __init__(self, lag_max: int) -> None:
        self._lag_max = lag_max
        self._waiting: dict[TopicPartition, list[OffsetSync]] = {}
        self._told: dict[TopicPartition, int] = {}

    def add(self, place: TopicPartition, pieces: Sequence[Piece]) -> None:
        points = sync_points(place, pieces, self._lag_max)
        if not points:
            return
        before = self._waiting.get(place, [])
        moved = points[-1].upstream - self._told.get(place, -1)
        if moved > self._lag_max:
            kept = before + points
        elif place in self._told:
            kept = points[-1:]
        else:  # nothing is told yet: a group at the start of the topic needs the first, however close it is
            first = (before or points)[0]
            kept = [first, points[-1]] if first != points[-1] else [first]
        self._waiting[place] = kept[-64:]

    @property
    def is_due(self) -> bool:
        """Whether a group could be told a place further back than it needs to be."""
        return any(
            syncs[-1].upstream - self._told.get(place, -1) > self._lag_max
            for place, syncs in self._waiting.items()
        )

    def take(self) -> list[OffsetSync]:
        """All that wait, in order."""
        taken = [sync for syncs in self._waiting.values() for sync in syncs]
        self._told |= {place: syncs[-1].upstream for place, syncs in self._waiting.items()}
        self._waiting = {}
        return taken

    def give_back(self, syncs: Iterable[OffsetSync]) -> None:
        """They could not be told. What has come since is newer."""
        for sync in syncs:
            self._waiting.setdefault(sync.place, []).insert(0, sync)
            self._told.pop(sync.place, None)
