"""Rules that no single broker setting can keep: what must fit together, and what one node cannot do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.settings.errors import SettingError, invalid
from penstock.settings.listeners import check_plaintext

if TYPE_CHECKING:
    from penstock.settings.broker import BrokerSettings

_BETWEEN: Final = (
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"),
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
)
"""Pairs of settings of which the first must not exceed the second."""


def check_broker(settings: BrokerSettings) -> None:
    """Raises SettingError for settings that are each allowed, but not together or not on one node."""
    _check_listeners(settings)
    _check_one_node(settings)
    if not settings.log_dirs or not all(settings.log_dirs):
        raise invalid(
            "log.dirs", settings.text("log.dirs"), "At least one log directory is needed", "directories"
        )
    for low, high in _BETWEEN:
        _check_order(settings, low, high)


def _check_order(settings: BrokerSettings, low: str, high: str) -> None:
    first, second = settings.text(low), settings.text(high)
    if first is not None and second is not None and int(first) > int(second):
        raise invalid(
            low, first, f"{low} must be less than or equal to {high} ({second})", f"at most {second}"
        )


def _check_listeners(settings: BrokerSettings) -> None:
    if not settings.client_listeners:
        why = "There must be a listener for clients, with a name that is not in controller.listener.names"
        raise invalid("listeners", settings.text("listeners"), why, "NAME://HOST:PORT")
    check_plaintext(settings.client_listeners, settings.listener_security_protocol_map)
    names = {listener.name for listener in settings.listeners}
    reserved = {name.upper() for name in settings.controller_listener_names}
    for advertised in settings.advertised_listeners:
        if advertised.name not in names | reserved:
            why = f"advertised.listeners names {advertised.name}, which listeners does not"
            raise invalid(
                "advertised.listeners", str(advertised), why, "listeners under the names of listeners"
            )
        if advertised.is_wildcard:
            why = "advertised.listeners cannot use a meta-address that clients cannot route to"
            raise invalid("advertised.listeners", str(advertised), why, "an address that clients can reach")


def _check_one_node(settings: BrokerSettings) -> None:
    """Several nodes that each believed to be alone would split a cluster's data: better not to start."""
    others = [
        voter for voter in settings.controller_quorum_voters if not voter.startswith(f"{settings.node_id}@")
    ]
    if others:
        why = f"this version runs one node, and {', '.join(others)} would be others"
        value = settings.text("controller.quorum.voters")
        raise invalid("controller.quorum.voters", value, why, f"one voter, {settings.node_id}@HOST:PORT")
    if settings.process_roles and len(settings.process_roles) < 2:
        message = "process.roles must be broker,controller: this version runs one node, which is both"
        value = settings.text("process.roles")
        raise SettingError(message, setting="process.roles", value=value, allowed="broker,controller")
