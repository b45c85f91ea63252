"""Which of a log's oldest segments may go: too old, too many bytes, or wholly before the log start offset.

Pure: it counts, the log deletes. Only what is below the high watermark goes, whatever the settings say.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.settings.topic import TopicSettings
from penstock.storage.segment import Segment
from penstock.storage.segments import Segments

UNLIMITED = -1


class Bounds(NamedTuple):
    """The offsets of a log that retention looks at."""

    log_start_offset: int
    high_watermark: int
    log_end_offset: int


def count_expired(segments: Segments, settings: TopicSettings, now_ms: int, bounds: Bounds) -> int:
    """How many segments, from the oldest on, are to be deleted; a non-empty active one may be among them."""
    deleting = "delete" in settings.cleanup_policy
    excess_bytes = -1
    if deleting and settings.retention_bytes != UNLIMITED:
        excess_bytes = segments.size_bytes - settings.retention_bytes
    count = 0
    for segment in segments:
        following = segments.base_after(segment)
        if (bounds.log_end_offset if following is None else following) > bounds.high_watermark:
            break
        if following is None and not segment.size:
            break
        excess_bytes -= segment.size
        too_much = excess_bytes >= 0
        before_start = following is not None and following <= bounds.log_start_offset
        if not (too_much or before_start or (deleting and _too_old(segment, settings.retention_ms, now_ms))):
            break
        count += 1
    return count


def _too_old(segment: Segment, retention_ms: int, now_ms: int) -> bool:
    if retention_ms == UNLIMITED:
        return False
    latest = segment.latest_timestamp()
    newest = latest if latest >= 0 else segment.created_ms
    return now_ms - newest > retention_ms
