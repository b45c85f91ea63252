"""Settings that a group of the consumer protocol (KIP-848) or a share group (KIP-932) may have of its own,
within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.settings import kinds
from penstock.settings.broker import BrokerSettings
from penstock.settings.definition import Definition, definitions_of, setting
from penstock.settings.errors import SettingError
from penstock.settings.offset_reset import OFFSET_RESET

SESSION_TIMEOUT = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
SHARE_SESSION_TIMEOUT = "share.session.timeout.ms"
SHARE_HEARTBEAT_INTERVAL = "share.heartbeat.interval.ms"
SHARE_LOCK_DURATION = "share.record.lock.duration.ms"
SHARE_OFFSET_RESET = "share.auto.offset.reset"
SHARE_ISOLATION = "share.isolation.level"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOverrides:
    """The table. A setting that a group does not have comes from the broker, under `group.` and the same
    name."""

    consumer_session_timeout_ms: int = setting(
        SESSION_TIMEOUT,
        kinds.int_(1),
        45_000,
        "Time without a heartbeat after which a member is removed.",
        dynamic=True,
        broker=("group.consumer.session.timeout.ms",),
    )
    consumer_heartbeat_interval_ms: int = setting(
        HEARTBEAT_INTERVAL,
        kinds.int_(1),
        5000,
        "Heartbeat interval that members are given.",
        dynamic=True,
        broker=("group.consumer.heartbeat.interval.ms",),
    )
    share_session_timeout_ms: int = setting(
        SHARE_SESSION_TIMEOUT,
        kinds.int_(1),
        45_000,
        "Time without a heartbeat after which a member of a share group is removed.",
        dynamic=True,
        broker=("group.share.session.timeout.ms",),
    )
    share_heartbeat_interval_ms: int = setting(
        SHARE_HEARTBEAT_INTERVAL,
        kinds.int_(1),
        5000,
        "Heartbeat interval that members of a share group are given.",
        dynamic=True,
        broker=("group.share.heartbeat.interval.ms",),
    )
    share_record_lock_duration_ms: int = setting(
        SHARE_LOCK_DURATION,
        kinds.int_(1000),
        30_000,
        "How long a member of a share group may keep a record that it has not acknowledged.",
        dynamic=True,
        broker=("group.share.record.lock.duration.ms",),
    )
    share_auto_offset_reset: str = setting(
        SHARE_OFFSET_RESET,
        OFFSET_RESET,
        "latest",
        "Where a share group begins to read a partition.",
        dynamic=True,
    )
    share_isolation_level: str = setting(
        SHARE_ISOLATION,
        kinds.one_of("read_committed", "read_uncommitted"),
        "read_uncommitted",
        "Whether records of transactions that are open or aborted are delivered.",
        dynamic=True,
    )


@cache
def group_definitions() -> Mapping[str, Definition]:
    """Every setting of a group, by name."""
    return definitions_of(GroupOverrides)


def check_group_overrides(overrides: Mapping[str, str], broker: BrokerSettings) -> None:
    """SettingError, with Kafka's sentence, when a group may not have these."""
    values = {name: _parsed(name, text) for name, text in overrides.items()}
    for name, low, high in (
        (
            SESSION_TIMEOUT,
            broker.group_consumer_min_session_timeout_ms,
            broker.group_consumer_max_session_timeout_ms,
        ),
        (
            HEARTBEAT_INTERVAL,
            broker.group_consumer_min_heartbeat_interval_ms,
            broker.group_consumer_max_heartbeat_interval_ms,
        ),
        (
            SHARE_SESSION_TIMEOUT,
            broker.group_share_min_session_timeout_ms,
            broker.group_share_max_session_timeout_ms,
        ),
        (
            SHARE_HEARTBEAT_INTERVAL,
            broker.group_share_min_heartbeat_interval_ms,
            broker.group_share_max_heartbeat_interval_ms,
        ),
        (
            SHARE_LOCK_DURATION,
            broker.group_share_min_record_lock_duration_ms,
            broker.group_share_max_record_lock_duration_ms,
        ),
    ):
        _check_bounds(name, values, low, high)
    _check_longer(
        values,
        (SESSION_TIMEOUT, broker.group_consumer_session_timeout_ms),
        (HEARTBEAT_INTERVAL, broker.group_consumer_heartbeat_interval_ms),
    )
    _check_longer(
        values,
        (SHARE_SESSION_TIMEOUT, broker.group_share_session_timeout_ms),
        (SHARE_HEARTBEAT_INTERVAL, broker.group_share_heartbeat_interval_ms),
    )


def _check_longer(values: Mapping[str, Any], session: tuple[str, int], heartbeat: tuple[str, int]) -> None:
    """A session must outlast a heartbeat; each comes with the broker's value, for a group that has none."""
    lasts, beats = values.get(*session), values.get(*heartbeat)
    if lasts <= beats:
        raise SettingError(
            f"{session[0]} must be greater than {heartbeat[0]}",
            setting=session[0],
            value=str(lasts),
            allowed=f"more than {beats}",
        )


def _parsed(name: str, text: str) -> Any:
    row = group_definitions().get(name)
    if row is None:
        allowed = ", ".join(group_definitions())
        raise SettingError(f"Unknown group config name: {name}", setting=name, value=text, allowed=allowed)
    return row.parse(text)


def _check_bounds(name: str, values: Mapping[str, Any], low: int, high: int) -> None:
    if name not in values or low <= values[name] <= high:
        return
    family, _, kind = name.partition(".")
    if values[name] < low:
        sentence = f"{name} must be greater than or equal to group.{family}.min.{kind}"
    else:
        sentence = f"{name} must be less than or equal to group.{family}.max.{kind}"
    raise SettingError(sentence, setting=name, value=str(values[name]), allowed=f"{low} to {high}")
