"""Rules that no single broker setting can keep: what must fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.settings.errors import invalid
from penstock.settings.listeners import check_protocols

if TYPE_CHECKING:
    from penstock.settings.broker import BrokerSettings

_BETWEEN: Final = (
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"),
    ("group.share.min.session.timeout.ms", "group.share.session.timeout.ms"),
    ("group.share.session.timeout.ms", "group.share.max.session.timeout.ms"),
    ("group.share.min.heartbeat.interval.ms", "group.share.heartbeat.interval.ms"),
    ("group.share.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    ("group.share.heartbeat.interval.ms", "group.share.session.timeout.ms"),
    ("group.share.min.record.lock.duration.ms", "group.share.record.lock.duration.ms"),
    ("group.share.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"),
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
)
"""Pairs of settings of which the first must not exceed the second."""


def check_broker(settings: BrokerSettings) -> None:
    """Raises SettingError for settings that are each allowed, but not together."""
    _check_roles(settings)
    _check_listeners(settings)
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
    if not settings.client_listeners and "broker" in settings.process_roles:
        why = "There must be a listener for clients, with a name that is not in controller.listener.names"
        raise invalid("listeners", settings.text("listeners"), why, "NAME://HOST:PORT")
    check_protocols(settings.client_listeners, settings.listener_security_protocol_map)
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


def _check_roles(settings: BrokerSettings) -> None:
    """A node that believed to be alone while there are others would split a cluster's data: better not to
    start."""
    voters, roles = settings.voters, settings.process_roles
    if not voters:
        if roles and len(roles) < 2:
            why = "a node that is only one of broker and controller must know the others"
            raise invalid("controller.quorum.voters", None, why, "every controller, as ID@HOST:PORT")
        return
    listed = settings.text("controller.quorum.voters")
    if "controller" in roles and settings.node_id not in voters:
        why = f"node {settings.node_id} is a controller and does not stand among the voters"
        raise invalid("controller.quorum.voters", listed, why, f"{settings.node_id}@HOST:PORT among others")
    if "controller" not in roles and settings.node_id in voters:
        why = f"node {settings.node_id} is only a broker and stands among the voters"
        raise invalid("controller.quorum.voters", listed, why, "controllers only")
    if not settings.is_alone and not settings.controller_listener_names:
        why = "nodes need a listener among themselves"
        raise invalid("controller.listener.names", None, why, "the name of a listener, as CONTROLLER")
    if "controller" in roles and not settings.is_alone and not settings.controller_listeners:
        names = ", ".join(settings.controller_listener_names)
        why = f"a controller needs a listener of the name {names}, and listeners has none"
        raise invalid("listeners", settings.text("listeners"), why, f"{names}://HOST:PORT among others")
    # As in Kafka, a controller's listener needs no entry in the map.
    unnamed = tuple((name.upper(), "PLAINTEXT") for name in settings.controller_listener_names)
    check_protocols(settings.controller_listeners, unnamed + settings.listener_security_protocol_map)
    _check_inter_broker(settings)


def _check_inter_broker(settings: BrokerSettings) -> None:
    name = settings.inter_broker_listener_name
    if name is not None and name not in {listener.name for listener in settings.client_listeners}:
        why = "this is no listener for brokers and clients"
        raise invalid("inter.broker.listener.name", name, why, "the name of one of listeners")
