"""Settings that a group of the consumer protocol may have of its own (KIP-848), within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from penstock.settings import kinds
from penstock.settings.broker import BrokerSettings
from penstock.settings.definition import Definition, definitions_of, setting
from penstock.settings.errors import SettingError

SESSION_TIMEOUT = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"


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


@cache
def group_definitions() -> Mapping[str, Definition]:
    """Every setting of a group, by name."""
    return definitions_of(GroupOverrides)


def check_group_overrides(overrides: Mapping[str, str], broker: BrokerSettings) -> None:
    """SettingError, with Kafka's sentence, when a group may not have these."""
    values = {name: _parsed(name, text) for name, text in overrides.items()}
    _check_bounds(
        SESSION_TIMEOUT,
        values,
        broker.group_consumer_min_session_timeout_ms,
        broker.group_consumer_max_session_timeout_ms,
    )
    _check_bounds(
        HEARTBEAT_INTERVAL,
        values,
        broker.group_consumer_min_heartbeat_interval_ms,
        broker.group_consumer_max_heartbeat_interval_ms,
    )
    session = values.get(SESSION_TIMEOUT, broker.group_consumer_session_timeout_ms)
    heartbeat = values.get(HEARTBEAT_INTERVAL, broker.group_consumer_heartbeat_interval_ms)
    if session <= heartbeat:
        raise SettingError(
            f"{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}",
            setting=SESSION_TIMEOUT,
            value=str(session),
            allowed=f"more than {heartbeat}",
        )


def _parsed(name: str, text: str) -> int:
    row = group_definitions().get(name)
    if row is None:
        allowed = ", ".join(group_definitions())
        raise SettingError(f"Unknown group config name: {name}", setting=name, value=text, allowed=allowed)
    return int(row.parse(text))


def _check_bounds(name: str, values: Mapping[str, int], low: int, high: int) -> None:
    if name not in values or low <= values[name] <= high:
        return
    kind = name.removeprefix("consumer.")
    if values[name] < low:
        sentence = f"{name} must be greater than or equal to group.consumer.min.{kind}"
    else:
        sentence = f"{name} must be less than or equal to group.consumer.max.{kind}"
    raise SettingError(sentence, setting=name, value=str(values[name]), allowed=f"{low} to {high}")
