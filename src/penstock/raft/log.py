"""The log that Raft replicates, as Raft sees it: batches that carry their epoch, and snapshots of what went
before.

`penstock.controller.quorum_log` implements it with our own segments. The core of Raft calls it.
"""

from __future__ import annotations

from typing import Protocol

from penstock.raft.messages import OffsetAndEpoch


class SnapshotChunk(Protocol):
    """A piece of a snapshot, and the size of the whole."""

    @property
    def data(self) -> bytes: ...

    @property
    def size_bytes(self) -> int: ...


class RaftLog(Protocol):
    """Whole batches from `start.offset` to below `end_offset`. Epochs never decrease along it."""

    @property
    def start(self) -> OffsetAndEpoch:
        """The first offset that can be read, and the epoch of what stood before it: (0, 0), or where a
        snapshot ends."""
        ...

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, or that of `start` when there is none."""
        ...

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None: ...

    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch:
        """The largest epoch up to `epoch` that is known here, and where it ends; `start` when there is
        none."""
        ...

    def append(self, batches: bytes, epoch: int) -> int:
        """Append as leader: offsets and `epoch` are written into the batches. The new end; not yet
        durable."""
        ...

    def append_fetched(self, batches: bytes) -> int:
        """Append what the leader sent, as it is; a batch that is cut at the end is left out. The new end."""
        ...

    def truncate_to(self, offset: int) -> None:
        """Cut away everything from `offset` on; durable when this returns."""
        ...

    def flush(self) -> None:
        """Make everything up to `end_offset` durable."""
        ...

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from `offset` on, one at least; nothing at the end."""
        ...

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> SnapshotChunk | None:
        """A piece of a snapshot; None when it is not here."""
        ...

    def receive_snapshot(self, snapshot: OffsetAndEpoch, position: int, chunk: bytes) -> None:
        """Keep a piece of a snapshot that is being fetched; at position 0 it begins anew."""
        ...

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """The fetched snapshot is whole: make it durable, and let the log begin, empty, where it ends."""
        ...
