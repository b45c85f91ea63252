"""Up to which offset each log of a directory has been compacted: the file `cleaner-offset-checkpoint`.

A log is in it from before its first compaction until it is deleted. That is also how a start knows which logs
may have gaps between their offsets: in the others a gap is damage (`penstock.storage.recovery`). Written by
the cleaner, by whoever cuts or deletes a log, and by a follower whose leader has gaps.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable
from typing import Final

from penstock.protocol.topic_partition import TopicPartition
from penstock.storage.checkpoints import read_offsets, write_offsets
from penstock.storage.disk import Disk, is_full
from penstock.storage.errors import Corruption

FILE_NAME: Final = "cleaner-offset-checkpoint"

_log = logging.getLogger(__name__)


class CleanedOffsets:
    """The checkpoint of one directory. Invariant: what is in memory is durable, dropped logs excepted."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._path = os.path.join(directory, FILE_NAME)
        self._lock = threading.Lock()
        self._offsets: dict[TopicPartition, int] = {}

    def load(self, logs: Iterable[TopicPartition]) -> None:
        """Read the file, as far as it speaks of these logs, which are all that the directory has."""
        try:
            found = read_offsets(self._disk, self._path)
            known = {name: found[name] for name in logs if name in found}
        except Corruption as error:
            _log.warning("every log is taken for one with gaps, and compacted anew: %s", error)
            known = dict.fromkeys(logs, 0)
            found = {}
        self._offsets = known
        if known != found:
            write_offsets(self._disk, self._path, known)

    def __contains__(self, name: TopicPartition) -> bool:
        return name in self._offsets

    def get(self, name: TopicPartition) -> int | None:
        """The first offset that was not compacted yet; None when the log never was."""
        return self._offsets.get(name)

    def put(self, name: TopicPartition, offset: int) -> None:
        """The log is compacted up to `offset`; durable when this returns."""
        with self._lock:
            if self._offsets.get(name) != offset:
                self._replace({**self._offsets, name: offset})

    def add(self, name: TopicPartition) -> None:
        """The log may have gaps from now on; durable when this returns."""
        with self._lock:
            if name not in self._offsets:
                self._replace({**self._offsets, name: 0})

    def cut(self, name: TopicPartition, end_offset: int) -> None:
        """The log ends at `end_offset` now: what will be written there is not compacted."""
        with self._lock:
            if self._offsets.get(name, 0) > end_offset:
                self._replace({**self._offsets, name: end_offset})

    def drop(self, name: TopicPartition) -> None:
        """The log is gone. A full disk may keep the old file: the next start does not find the log then."""
        with self._lock:
            if name not in self._offsets:
                return
            self._offsets = {other: offset for other, offset in self._offsets.items() if other != name}
            try:
                self._replace(self._offsets)
            except OSError as error:
                if not is_full(error):
                    raise

    def _replace(self, offsets: dict[TopicPartition, int]) -> None:
        write_offsets(self._disk, self._path, offsets)
        self._offsets = offsets
