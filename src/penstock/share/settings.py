"""The settings of share groups: those of the broker, and those that a single group may have of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.settings import BrokerSettings
from penstock.settings.group import SHARE_ISOLATION, SHARE_LOCK_DURATION, SHARE_OFFSET_RESET
from penstock.settings.offset_reset import LATEST, offset_reset

READ_COMMITTED: Final = "read_committed"


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """What share partitions go by."""

    lock_duration_ms: int = 30_000
    min_lock_duration_ms: int = 15_000
    max_lock_duration_ms: int = 60_000
    most_in_flight: int = 2000
    most_attempts: int = 5
    most_sessions: int = 2000

    @staticmethod
    def of(broker: BrokerSettings) -> ShareSettings:
        return ShareSettings(
            broker.group_share_record_lock_duration_ms,
            broker.group_share_min_record_lock_duration_ms,
            broker.group_share_max_record_lock_duration_ms,
            broker.group_share_partition_max_record_locks,
            broker.group_share_delivery_count_limit,
            broker.group_share_max_share_sessions,
        )

    def lock_ms(self, group_config: Mapping[str, str]) -> int:
        """How long a member of the group may keep a record."""
        text = group_config.get(SHARE_LOCK_DURATION)
        if text is None:
            return self.lock_duration_ms
        return min(max(int(text), self.min_lock_duration_ms), self.max_lock_duration_ms)


def reads_committed(group_config: Mapping[str, str]) -> bool:
    return group_config.get(SHARE_ISOLATION) == READ_COMMITTED


def first_place(group_config: Mapping[str, str]) -> str | timedelta:
    """Where the group begins to read: EARLIEST, LATEST, or how long ago."""
    return offset_reset(group_config.get(SHARE_OFFSET_RESET, LATEST))
