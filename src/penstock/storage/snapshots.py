"""The snapshot files of a log's producer state, and the state made from them after a start or a truncation.

`<offset>.snapshot` holds what was known before that offset was written. One is written at each roll and at a
clean close; it is deleted with its segment. Snapshots carry a CRC: a torn one is thrown away and an older
one taken.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from penstock.records.batch import BatchHeader, CorruptBatch
from penstock.records.control import EndMarker, read_marker
from penstock.storage.aborted import AbortedIndex
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption
from penstock.storage.producers import SNAPSHOT_SUFFIX, Producers
from penstock.storage.segment import OFFSET_DIGITS, Segment, file_name
from penstock.storage.segments import Segments

RECALLED_BYTES: Final = 1024 * 1024
"""How much of the log before a snapshot is searched for batches that producers may send again."""


class Snapshots:
    """The snapshot files in one log's directory."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def _file(self, offset: int) -> str:
        return os.path.join(self._path, file_name(offset, SNAPSHOT_SUFFIX))

    def offsets(self) -> list[int]:
        """The offsets of the snapshots that exist, ascending."""
        return [
            int(name[:OFFSET_DIGITS])
            for name in self._disk.list_dir(self._path)
            if name.endswith(SNAPSHOT_SUFFIX) and name[: -len(SNAPSHOT_SUFFIX)].isdigit()
        ]

    def write(self, offset: int, producers: Producers) -> None:
        """Write what is known before `offset`; `sync` makes it durable."""
        self._disk.create(self._file(offset)).append(producers.to_bytes())

    def sync(self, offset: int) -> None:
        """Make the snapshot durable, if there is one."""
        if self._disk.exists(self._file(offset)):
            self._disk.open(self._file(offset)).sync()

    def remove(self, offset: int) -> None:
        self._disk.remove(self._file(offset))

    def restore(
        self,
        producers: Producers,
        segments: Segments,
        log_end_offset: int,
        now_ms: int,
        *,
        aborted_unknown_from: int | None = None,
    ) -> None:
        """Make `producers` what the log says: a sound snapshot, and every batch after it. From the segment
        at `aborted_unknown_from` on, aborted transactions are found and their indexes written, too."""
        latest = log_end_offset if aborted_unknown_from is None else aborted_unknown_from
        start = self._load_latest(producers, segments, latest, log_end_offset, now_ms)
        if start > segments.first.base_offset and producers.may_retry(now_ms):
            with suppress(Corruption):  # a batch that is not recalled is refused when it is sent again
                producers.recall(segments.headers_before(start, RECALLED_BYTES))
        rebuilt = {
            segment.base_offset: AbortedIndex()
            for segment in segments
            if aborted_unknown_from is not None and segment.base_offset >= aborted_unknown_from
        }
        for segment, position, header in segments.scan(start):
            if header.producer_id < 0 or header.base_offset < start:
                continue
            if not header.is_control:
                producers.replay(header, header.base_offset, header.max_timestamp)
                continue
            marker = _read_marker(segment, position, header)
            aborted = producers.replay_marker(header, marker, header.base_offset, header.max_timestamp)
            if aborted is not None and segment.base_offset in rebuilt:
                rebuilt[segment.base_offset].append(aborted)
        for segment in segments:
            if segment.base_offset in rebuilt:
                segment.replace_aborted(rebuilt[segment.base_offset])
        producers.expire(now_ms)

    def _load_latest(
        self, producers: Producers, segments: Segments, latest: int, log_end_offset: int, now_ms: int
    ) -> int:
        """Load the latest sound snapshot up to `latest` and remove what is of no use; its offset, or where
        the log begins."""
        producers.clear()
        start = segments.first.base_offset
        bases = {segment.base_offset for segment in segments}
        found = False
        for offset in reversed(self.offsets()):
            is_candidate = not found and offset <= latest
            if is_candidate and start <= offset and self._load(offset, producers, now_ms):
                found = True
                start = offset
            elif offset > log_end_offset or is_candidate or offset not in bases:
                # Beyond the end, torn, or left by a clean stop in the middle of what is now a segment.
                self.remove(offset)
        return start

    def _load(self, offset: int, producers: Producers, now_ms: int) -> bool:
        try:
            producers.load(self._disk.read_bytes(self._file(offset)), now_ms)
        except ValueError:
            return False
        return True


def _read_marker(segment: Segment, position: int, header: BatchHeader) -> EndMarker | None:
    try:
        return read_marker(segment.file.read(position, header.size_bytes))
    except CorruptBatch as error:
        raise Corruption(segment.path, position, str(error)) from error
