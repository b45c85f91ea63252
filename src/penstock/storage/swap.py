"""The names under which a compacted segment takes the place of old ones, and how a start finishes that.

    <base>.log.cleaned   being written; a start throws it away
    <base>.log.swap      whole and durable: the swap is decided, and a start completes it
    <base>.log.deleted   a segment whose place was taken; removed soon, at the latest by a start

Indexes have the same endings, and are renamed before their log: a `.log.swap` has its indexes beside it. The
segments that a `.swap` covers are out of the way before it gets its final name, so that no start ever sees
both. Kafka uses the same names in the same order. Called by `penstock.storage.compaction`, by `Log` and by
`penstock.storage.recovery`.
"""

from __future__ import annotations

import os
from typing import Final

from penstock.storage.disk import Disk
from penstock.storage.producers import SNAPSHOT_SUFFIX
from penstock.storage.scan import scan_headers
from penstock.storage.segment import INDEX_SUFFIXES, LOG_SUFFIX, OFFSET_DIGITS, file_name

CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
DELETED: Final = ".deleted"


def segment_bases(names: list[str]) -> list[int]:
    """The base offsets of the segments among the files of a log, ascending."""
    return sorted(
        int(name[:OFFSET_DIGITS])
        for name in names
        if name.endswith(LOG_SUFFIX)
        and name[: -len(LOG_SUFFIX)].isdigit()
        and len(name) == OFFSET_DIGITS + len(LOG_SUFFIX)
    )


def complete_swaps(disk: Disk, path: str) -> None:
    """Finish every swap that was decided, and throw away the others. May be cut short and begun again."""
    names = disk.list_dir(path)
    for name in names:
        if name.endswith((CLEANED, DELETED)):
            disk.remove(os.path.join(path, name))
    swaps = [name for name in names if name.endswith(LOG_SUFFIX + SWAP)]
    for name in swaps:
        _complete(disk, path, int(name[:OFFSET_DIGITS]), segment_bases(names))
    if swaps:
        disk.sync_dir(path)
    for name in names:
        if name.endswith(SWAP) and disk.exists(os.path.join(path, name)):
            disk.remove(os.path.join(path, name))  # indexes whose log never got that far


def discard_swaps(disk: Disk, path: str) -> None:
    """The log is about to be cut: a swap that was decided, and not made, must not bring back what goes."""
    for name in disk.list_dir(path):
        if name.endswith(SWAP):
            disk.remove(os.path.join(path, name))


def _complete(disk: Disk, path: str, base: int, bases: list[int]) -> None:
    swap = os.path.join(path, file_name(base, LOG_SUFFIX + SWAP))
    next_offset = base
    for _, header in scan_headers(disk.open(swap), swap, 0, disk.size(swap)):
        next_offset = header.next_offset
    for covered in bases:
        if base < covered < next_offset:
            # What the swap does not reach has lost all its records: it is compacted once more, harmlessly.
            for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES, SNAPSHOT_SUFFIX):
                disk.remove(os.path.join(path, file_name(covered, suffix)))
    disk.sync_dir(path)
    for suffix in (*INDEX_SUFFIXES, LOG_SUFFIX):
        name = os.path.join(path, file_name(base, suffix))
        if disk.exists(name + SWAP):
            disk.rename(name + SWAP, name)
