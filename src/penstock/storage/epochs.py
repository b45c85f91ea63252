"""At which offset each leader epoch of a log began: the cache behind OffsetsForLeaderEpoch, and its file.

`leader-epoch-checkpoint` has Kafka's text format. An epoch is durable in it before the first batch of that
epoch is written, so recovery may hold every batch's epoch against it. Followers ask a leader where an epoch
ended, and cut away what they have beyond (KIP-101, KIP-279).
"""

from __future__ import annotations

from bisect import bisect_right

from penstock.storage.checkpoints import read_lines, write_lines
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption

FILE_NAME = "leader-epoch-checkpoint"
NO_EPOCH = -1
NO_OFFSET = -1


class LeaderEpochs:
    """(epoch, first offset) pairs. Invariant: epochs and offsets both increase strictly."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._epochs: list[int] = []
        self._starts: list[int] = []
        # The epoch of the next append is compared with this on every append.
        self.latest = NO_EPOCH

    @classmethod
    def load(cls, disk: Disk, path: str) -> LeaderEpochs:
        """The cache from its file; empty when there is none."""
        entries: list[tuple[int, int]] = []
        for line in read_lines(disk, path):
            try:
                epoch, start = map(int, line.split(" "))
            except ValueError as error:
                raise Corruption(path, 0, f"no entry of a leader epoch checkpoint: {line!r}") from error
            if entries and (epoch <= entries[-1][0] or start < entries[-1][1]):
                raise Corruption(path, 0, f"leader epochs do not increase: {line!r}")
            entries.append((epoch, start))
        cache = cls(disk, path)
        cache._set(entries)
        return cache

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` begins at `start_offset`; durable when this returns. Nothing happens when it is known."""
        if epoch <= self.latest:
            return
        # An epoch that began here, or later, never wrote anything: the new one takes its place.
        kept = [entry for entry in self.entries() if entry[1] < start_offset]
        self._replace([*kept, (epoch, start_offset)])

    def epoch_of(self, offset: int) -> int:
        """The epoch under which `offset` was, or would be, written; NO_EPOCH before the first."""
        found = bisect_right(self._starts, offset)
        return self._epochs[found - 1] if found else NO_EPOCH

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch up to `epoch`, and where it ended; (NO_EPOCH, NO_OFFSET) when unknown."""
        if epoch < 0 or epoch > self.latest:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        following = bisect_right(self._epochs, epoch)
        return (self._epochs[following - 1] if following else epoch), self._starts[following]

    def truncate_to(self, end_offset: int) -> None:
        """Forget epochs that began at `end_offset` or later."""
        keep = bisect_right(self._starts, end_offset - 1)
        if keep < len(self._starts):
            self._replace(self.entries()[:keep])

    def advance_start(self, start_offset: int) -> None:
        """Forget epochs that ended before `start_offset`; the one that holds it now begins there."""
        found = bisect_right(self._starts, start_offset) - 1
        if found > 0 or (found == 0 and self._starts[0] < start_offset):
            self._replace([(self._epochs[found], start_offset), *self.entries()[found + 1 :]])

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        """Write first: what is in memory was always durable before."""
        write_lines(self._disk, self._path, (f"{epoch} {start}" for epoch, start in entries))
        self._set(entries)

    def _set(self, entries: list[tuple[int, int]]) -> None:
        self._epochs = [epoch for epoch, _ in entries]
        self._starts = [start for _, start in entries]
        self.latest = self._epochs[-1] if entries else NO_EPOCH
