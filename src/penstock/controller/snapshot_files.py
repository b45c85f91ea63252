"""Snapshots of the metadata as files beside the log, under Kafka's names: `<offset>-<epoch>.checkpoint`.

A file under that name is whole and durable. While it is being written or fetched it has `.part` behind its
name, and a start forgets it.
"""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from penstock.raft.messages import OffsetAndEpoch
from penstock.storage.disk import Disk, File

_SUFFIX: Final = ".checkpoint"
_PART: Final = ".part"
_OWN: Final = ".own"  # one may be written here while another is being fetched
_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class Chunk(NamedTuple):
    """A piece of a snapshot, and the size of the whole."""

    data: bytes
    size_bytes: int


class SnapshotFiles:
    """The snapshots in one directory, oldest first."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._receiving: tuple[OffsetAndEpoch, File] | None = None
        names = disk.list_dir(directory)
        for name in names:
            if name.endswith(_PART):
                disk.remove(os.path.join(directory, name))
        found = [match for name in names if (match := _NAME.fullmatch(name))]
        self.ids = sorted(OffsetAndEpoch(int(match[1]), int(match[2])) for match in found)

    def path(self, snapshot: OffsetAndEpoch) -> str:
        return os.path.join(self._directory, f"{snapshot.offset:020}-{snapshot.epoch:010}{_SUFFIX}")

    def read(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> Chunk | None:
        """A piece of it; None when it is not here."""
        if snapshot not in self.ids:
            return None
        file = self._disk.open(self.path(snapshot))
        try:
            return Chunk(file.read(position, max_bytes) if 0 <= position <= file.size else b"", file.size)
        finally:
            file.close()

    def write(self, snapshot: OffsetAndEpoch, data: bytes) -> None:
        """A whole snapshot at once, durable when this returns."""
        part = self.path(snapshot) + _OWN + _PART
        file = self._disk.create(part)
        file.append(data)
        self._name(snapshot, file, part)

    def receive(self, snapshot: OffsetAndEpoch, position: int, chunk: bytes) -> None:
        """A piece of one that comes in order; position 0 begins anew."""
        if position == 0:
            self._receiving = snapshot, self._disk.create(self.path(snapshot) + _PART)
        assert self._receiving is not None, "a snapshot begins at its beginning"
        expected, file = self._receiving
        assert (expected, file.size) == (snapshot, position), "pieces of a snapshot come in order"
        file.append(chunk)

    def finish(self, snapshot: OffsetAndEpoch) -> None:
        """It is whole: give it its name."""
        assert self._receiving is not None, "nothing was received"
        assert self._receiving[0] == snapshot, "another snapshot was received"
        (_, file), self._receiving = self._receiving, None
        self._name(snapshot, file, self.path(snapshot) + _PART)

    def _name(self, snapshot: OffsetAndEpoch, file: File, part: str) -> None:
        file.sync()
        self._disk.rename(part, self.path(snapshot))
        self._disk.sync_dir(self._directory)
        self.ids = sorted({*self.ids, snapshot})

    def remove_before(self, snapshot: OffsetAndEpoch) -> None:
        """Older ones are not needed any more."""
        for older in [known for known in self.ids if known < snapshot]:
            self._disk.remove(self.path(older))
            self.ids.remove(older)
