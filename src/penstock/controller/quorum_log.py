"""The quorum's log in our own segments: `__cluster_metadata-0` with its snapshots beside it, as Raft wants
it.

An implementation of `penstock.raft.log:RaftLog` on `penstock.storage.log:Log`. Its only caller is the
driver of Raft. It takes the log's lock, because housekeeping flushes the log too.
"""

from __future__ import annotations

from penstock.controller.snapshot_files import Chunk, SnapshotFiles
from penstock.raft.messages import OffsetAndEpoch
from penstock.records.batch import iter_headers
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption
from penstock.storage.incoming import examine_fetched, examine_internal
from penstock.storage.log import Log


class QuorumLog:
    """Batches from `start` to `end_offset`, and snapshots of what went before."""

    def __init__(self, log: Log, disk: Disk) -> None:
        self._log = log
        self._snapshots = SnapshotFiles(disk, log.path)
        self._start = self._find_start()

    def _find_start(self) -> OffsetAndEpoch:
        """Where the log can be used from: its beginning, or the first snapshot that its batches follow.

        A crash may have come between a snapshot's name and the cut that belongs to it; the cut is made up
        for.
        """
        begins, ids = self._begins(), self._snapshots.ids
        if begins == 0 and (not ids or self._reaches(ids[-1])):
            return OffsetAndEpoch(0, 0)
        usable = [known for known in ids if known.offset >= begins]
        if not usable:
            raise Corruption(
                self._log.path, 0, f"begins at offset {begins}, no snapshot holds what was before"
            )
        reached = [known for known in usable if self._reaches(known)]
        start = reached[0] if usable[-1] in reached else usable[-1]
        self._begin_at(start)
        self._snapshots.remove_before(start)
        return start

    def _begins(self) -> int:
        """The first offset that counts. Epochs are cut at once and durably; old segments go when there is
        time."""
        known = self._log.epochs.entries()
        return max(self._log.log_start_offset, known[0][1] if known else 0)

    def _reaches(self, snapshot: OffsetAndEpoch) -> bool:
        """Whether the log goes on behind this snapshot: what stands before its end must be of its epoch,
        because two logs with one epoch at one offset are equal up to there."""
        if self._log.log_end_offset < snapshot.offset:
            return False
        return snapshot.offset == self._begins() or (
            self._log.epochs.epoch_of(snapshot.offset - 1) == snapshot.epoch
        )

    @property
    def start(self) -> OffsetAndEpoch:
        return self._start

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def last_epoch(self) -> int:
        return max(self._log.epochs.latest, self._start.epoch)

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return self._snapshots.ids[-1] if self._snapshots.ids else None

    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch:
        end, found = self.end_offset, self._start
        for known, start_offset in reversed(self._log.epochs.entries()):
            if known <= epoch:
                if known >= self._start.epoch:
                    found = OffsetAndEpoch(end, known)
                break
            end = start_offset
        return found

    def append(self, batches: bytes, epoch: int) -> int:
        with self._log.lock:
            examined = examine_internal(memoryview(bytearray(batches)), self._log.settings)
            self._log.append_internal(examined, leader_epoch=epoch)
            return self.end_offset

    def append_fetched(self, batches: bytes) -> int:
        with self._log.lock:
            self._log.append_fetched(examine_fetched(memoryview(batches)))
            return self.end_offset

    def truncate_to(self, offset: int) -> None:
        with self._log.lock:
            self._log.truncate_to(offset)

    def flush(self) -> None:
        with self._log.lock:
            self._log.flush()

    def read(self, offset: int, max_bytes: int) -> bytes:
        with self._log.lock:
            piece = self._log.read(offset, max_bytes)
        if piece is None:
            return b""
        data = piece.read()
        whole = 0
        for position, header in iter_headers(data):
            whole = position + header.size_bytes
        return data[:whole]

    # Snapshots

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> Chunk | None:
        return self._snapshots.read(snapshot, position, max_bytes)

    def receive_snapshot(self, snapshot: OffsetAndEpoch, position: int, chunk: bytes) -> None:
        self._snapshots.receive(snapshot, position, chunk)

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        self._snapshots.finish(snapshot)
        self._begin_at(snapshot, anew=True)
        self._snapshots.remove_before(snapshot)

    def write_snapshot(self, snapshot: OffsetAndEpoch, data: bytes) -> None:
        """Keep a snapshot of what is committed here. The one before it stays, and the log from there on, for
        followers that are a little behind; what is older goes."""
        before = self.latest_snapshot
        self._snapshots.write(snapshot, data)
        if before is not None and before.offset > self._start.offset:
            self._begin_at(before)
            self._snapshots.remove_before(before)

    def _begin_at(self, start: OffsetAndEpoch, *, anew: bool = False) -> None:
        self._start = start
        with self._log.lock:
            if anew or not self._reaches(start):
                self._log.truncate_to(start.offset, anew=True)
            else:
                self._log.delete_records_before(start.offset)
