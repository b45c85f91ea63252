"""At which offset each leader epoch of a log began: the cache behind OffsetsForLeaderEpoch, and its file.

`leader-epoch-checkpoint` has Kafka's text format. An epoch is written down before the first batch of that
epoch, and durable before that batch is, so recovery may hold every batch's epoch against it: a batch of an
epoch that nobody knows was never flushed. Followers ask a leader where an epoch ended, and cut away what they
have beyond (KIP-101, KIP-279).

Two syncs before the first append of an epoch would stop every partition of a dead broker for milliseconds,
one after the other. So a new epoch goes to a second file, which nobody syncs and no power cut need spare, and
from there into the first with the next flush of the log.
"""

from __future__ import annotations

import threading
from bisect import bisect_right

from penstock.storage.checkpoints import read_lines, write_lines
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption

FILE_NAME = "leader-epoch-checkpoint"
UNSYNCED = ".unsynced"
NO_EPOCH = -1
NO_OFFSET = -1


class LeaderEpochs:
    """(epoch, first offset) pairs. Invariant: epochs and offsets both increase strictly."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        # Guards the two files, and all that is below: `sync` is called without the lock of the log.
        self._writing = threading.Lock()
        # Whether there are epochs that the second file alone has.
        self._unsynced = False
        self._epochs: list[int] = []
        self._starts: list[int] = []
        # The epoch of the next append is compared with this on every append.
        self.latest = NO_EPOCH

    @classmethod
    def load(cls, disk: Disk, path: str) -> LeaderEpochs:
        """The cache from its files; empty when there are none."""
        cache = cls(disk, path)
        cache._set(_read(disk, path))
        try:
            newer = _read(disk, path + UNSYNCED)
        except Corruption:
            newer = []  # the power went before it was whole
        if newer and newer[-1][0] > cache.latest:
            cache._set(newer)
            cache._promote()
        else:
            disk.remove(path + UNSYNCED)
        return cache

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` begins at `start_offset`; durable with the next `sync`. One that is known stays."""
        if epoch <= self.latest:
            return
        with self._writing:
            # An epoch that began here, or later, never wrote anything: the new one takes its place.
            kept = [entry for entry in self.entries() if entry[1] < start_offset]
            entries = [*kept, (epoch, start_offset)]
            write_lines(self._disk, self._path + UNSYNCED, _lines(entries), durable=False)
            self._unsynced = True
            self._set(entries)

    def sync(self) -> None:
        """Every epoch that was assigned is durable once the directory is synced as well. It needs no lock."""
        if self._unsynced:
            with self._writing:
                if self._unsynced:
                    self._promote()

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
        with self._writing:
            keep = bisect_right(self._starts, end_offset - 1)
            if keep < len(self._starts):
                self._replace(self.entries()[:keep])

    def advance_start(self, start_offset: int) -> None:
        """Forget epochs that ended before `start_offset`; the one that holds it now begins there."""
        with self._writing:
            found = bisect_right(self._starts, start_offset) - 1
            if found > 0 or (found == 0 and self._starts[0] < start_offset):
                self._replace([(self._epochs[found], start_offset), *self.entries()[found + 1 :]])

    def _promote(self) -> None:
        """The second file takes the place of the first. Nothing is written: a disk may be full, and flushes
        have to succeed nevertheless."""
        file = self._disk.open(self._path + UNSYNCED)
        try:
            file.sync()
        finally:
            file.close()
        self._disk.rename(self._path + UNSYNCED, self._path)
        self._unsynced = False

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        """Write first: what is in memory was always in a file before. The second file goes last: until then
        it is the one that knows the newest epochs."""
        write_lines(self._disk, self._path, _lines(entries))
        self._disk.remove(self._path + UNSYNCED)
        self._unsynced = False
        self._set(entries)

    def _set(self, entries: list[tuple[int, int]]) -> None:
        self._epochs = [epoch for epoch, _ in entries]
        self._starts = [start for _, start in entries]
        self.latest = self._epochs[-1] if entries else NO_EPOCH


def _read(disk: Disk, path: str) -> list[tuple[int, int]]:
    entries: list[tuple[int, int]] = []
    for line in read_lines(disk, path):
        try:
            epoch, start = map(int, line.split(" "))
        except ValueError as error:
            raise Corruption(path, 0, f"no entry of a leader epoch checkpoint: {line!r}") from error
        if entries and (epoch <= entries[-1][0] or start < entries[-1][1]):
            raise Corruption(path, 0, f"leader epochs do not increase: {line!r}")
        entries.append((epoch, start))
    return entries


def _lines(entries: list[tuple[int, int]]) -> list[str]:
    return [f"{epoch} {start}" for epoch, start in entries]
