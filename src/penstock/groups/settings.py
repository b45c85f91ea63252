"""The settings of groups: those of the broker, and those that a single group may have of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.settings import BrokerSettings
from penstock.settings.group import (
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
    SHARE_HEARTBEAT_INTERVAL,
    SHARE_SESSION_TIMEOUT,
)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What the protocols of groups go by."""

    initial_rebalance_delay_ms: int = 3000
    min_session_timeout_ms: int = 6000
    max_session_timeout_ms: int = 1_800_000
    classic_max_size: int = 2**31 - 1
    consumer_session_timeout_ms: int = 45_000
    consumer_min_session_timeout_ms: int = 45_000
    consumer_max_session_timeout_ms: int = 60_000
    consumer_heartbeat_interval_ms: int = 5000
    consumer_min_heartbeat_interval_ms: int = 5000
    consumer_max_heartbeat_interval_ms: int = 15_000
    consumer_max_size: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: str = "bidirectional"
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 3600 * 1000
    offsets_retention_check_interval_ms: int = 600_000
    consumer_protocol_offered: bool = True
    offsets_topic_codec: int = 0
    share_session_timeout_ms: int = 45_000
    share_min_session_timeout_ms: int = 45_000
    share_max_session_timeout_ms: int = 60_000
    share_heartbeat_interval_ms: int = 5000
    share_min_heartbeat_interval_ms: int = 5000
    share_max_heartbeat_interval_ms: int = 15_000
    share_max_size: int = 200
    share_protocol_offered: bool = True

    @staticmethod
    def of(broker: BrokerSettings) -> GroupSettings:
        return GroupSettings(
            broker.group_initial_rebalance_delay_ms,
            broker.group_min_session_timeout_ms,
            broker.group_max_session_timeout_ms,
            broker.group_max_size,
            broker.group_consumer_session_timeout_ms,
            broker.group_consumer_min_session_timeout_ms,
            broker.group_consumer_max_session_timeout_ms,
            broker.group_consumer_heartbeat_interval_ms,
            broker.group_consumer_min_heartbeat_interval_ms,
            broker.group_consumer_max_heartbeat_interval_ms,
            broker.group_consumer_max_size,
            broker.group_consumer_assignors,
            broker.group_consumer_migration_policy,
            broker.offset_metadata_max_bytes,
            broker.offsets_retention_minutes * 60_000,
            broker.offsets_retention_check_interval_ms,
            "consumer" in broker.group_coordinator_rebalance_protocols,
            broker.offsets_topic_compression_codec,
            broker.group_share_session_timeout_ms,
            broker.group_share_min_session_timeout_ms,
            broker.group_share_max_session_timeout_ms,
            broker.group_share_heartbeat_interval_ms,
            broker.group_share_min_heartbeat_interval_ms,
            broker.group_share_max_heartbeat_interval_ms,
            broker.group_share_max_size,
            "share" in broker.group_coordinator_rebalance_protocols,
        )

    @property
    def may_upgrade(self) -> bool:
        return self.migration_policy in ("bidirectional", "upgrade")

    @property
    def may_downgrade(self) -> bool:
        return self.migration_policy in ("bidirectional", "downgrade")

    def session_timeout_ms(self, group_config: Mapping[str, str]) -> int:
        """Of one group of the consumer protocol: its own value within the broker's bounds, or the default."""
        bounds = (self.consumer_min_session_timeout_ms, self.consumer_max_session_timeout_ms)
        return _bounded(group_config.get(SESSION_TIMEOUT), bounds, self.consumer_session_timeout_ms)

    def heartbeat_interval_ms(self, group_config: Mapping[str, str]) -> int:
        bounds = (self.consumer_min_heartbeat_interval_ms, self.consumer_max_heartbeat_interval_ms)
        return _bounded(group_config.get(HEARTBEAT_INTERVAL), bounds, self.consumer_heartbeat_interval_ms)

    def share_session_ms(self, group_config: Mapping[str, str]) -> int:
        """Of one share group, likewise."""
        bounds = (self.share_min_session_timeout_ms, self.share_max_session_timeout_ms)
        return _bounded(group_config.get(SHARE_SESSION_TIMEOUT), bounds, self.share_session_timeout_ms)

    def share_heartbeat_ms(self, group_config: Mapping[str, str]) -> int:
        bounds = (self.share_min_heartbeat_interval_ms, self.share_max_heartbeat_interval_ms)
        return _bounded(group_config.get(SHARE_HEARTBEAT_INTERVAL), bounds, self.share_heartbeat_interval_ms)


def _bounded(text: str | None, bounds: tuple[int, int], default: int) -> int:
    return default if text is None else min(max(int(text), bounds[0]), bounds[1])
