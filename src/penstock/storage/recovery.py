"""Opening the segments of a log, and finding the last whole batch after an unclean stop.

Below the recovery point everything was flushed and is taken as it stands; from it on every batch is
verified. The first one that is torn, damaged or out of order ends the log, and whatever follows is cut away.
Called by `Log.open` only.
"""

from __future__ import annotations

from penstock.records.batch import HEADER_SIZE, MAGIC, BatchHeader, CorruptBatch, check_crc, read_header
from penstock.settings.topic import TopicSettings
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption
from penstock.storage.index import MAX_RELATIVE_OFFSET
from penstock.storage.segment import LOG_SUFFIX, OFFSET_DIGITS, Segment

CHUNK_BYTES = 1024 * 1024


def load_segments(
    disk: Disk,
    path: str,
    settings: TopicSettings,
    now_ms: int,
    *,
    clean: bool,
    recovery_point: int,
    start: int,
) -> list[Segment]:
    """The segments in directory `path`, verified from `recovery_point` on unless `clean`; at least one."""
    bases = [
        int(name[:OFFSET_DIGITS])
        for name in disk.list_dir(path)
        if name.endswith(LOG_SUFFIX) and name[:OFFSET_DIGITS].isdigit()
    ]
    interval = settings.index_interval_bytes
    segments: list[Segment] = []
    torn = False
    dense = "compact" not in settings.cleanup_policy
    for index, base in enumerate(bases):
        if torn:
            Segment(disk, path, base, index_interval_bytes=interval, now_ms=now_ms).delete()
        elif clean or (index + 1 < len(bases) and bases[index + 1] <= recovery_point):
            segments.append(Segment.load(disk, path, base, index_interval_bytes=interval, now_ms=now_ms))
        else:
            segment = Segment(disk, path, base, index_interval_bytes=interval, now_ms=now_ms)
            torn = not recover(segment, recovery_point, dense=dense)
            segment.write_indexes()
            segment.sync()
            segments.append(segment)
    if not segments:
        segments.append(Segment.create(disk, path, start, index_interval_bytes=interval, now_ms=now_ms))
    return segments


def recover(segment: Segment, recovery_point: int, *, dense: bool) -> bool:
    """Verify every batch and rebuild the indexes; False when the segment had to be cut at a bad batch.

    `dense` says that offsets have no gaps: only compaction makes them.
    """
    file = segment.file
    segment.begin_rebuild()
    position, next_offset = 0, segment.base_offset
    chunk, chunk_position = b"", 0
    while position < file.size:
        try:
            if position + HEADER_SIZE > chunk_position + len(chunk):
                chunk, chunk_position = file.read(position, CHUNK_BYTES), position
            header = read_header(chunk, position - chunk_position)
            if position + header.size_bytes > file.size:
                raise CorruptBatch("the file ends inside the batch")
            if position + header.size_bytes > chunk_position + len(chunk):
                chunk = file.read(position, max(CHUNK_BYTES, header.size_bytes))
                chunk_position = position
            check_crc(chunk, position - chunk_position, header)
            _check_place(header, segment.base_offset, next_offset, dense=dense)
        except CorruptBatch as error:
            if next_offset < recovery_point:
                # It had been flushed: this is no torn write, and cutting it away would lose what was
                # promised.
                raise Corruption(segment.path, position, str(error)) from error
            file.truncate(position)
            segment.size = position
            return False
        segment.note(position, header.size_bytes, header.last_offset, header.max_timestamp)
        next_offset = header.next_offset
        position += header.size_bytes
    segment.size = position
    return True


def _check_place(header: BatchHeader, base_offset: int, next_offset: int, *, dense: bool) -> None:
    """What the CRC does not cover: magic and offsets."""
    if header.magic != MAGIC:
        raise CorruptBatch(f"magic {header.magic} is not {MAGIC}")
    if header.base_offset < next_offset or (dense and header.base_offset != next_offset):
        raise CorruptBatch(f"offset {header.base_offset} where {next_offset} was expected")
    if header.last_offset_delta < 0 or header.last_offset - base_offset > MAX_RELATIVE_OFFSET:
        raise CorruptBatch(f"last offset delta {header.last_offset_delta} is impossible")
