"""The options of `kafka-configs`, and the entities that they name."""

from __future__ import annotations

import socket
from typing import Final, NamedTuple

from penstock.cli.kafka.options import CommandFailed, Given, Parser

KINDS: Final = (
    "topics",
    "clients",
    "users",
    "brokers",
    "ips",
    "client-metrics",
    "groups",
    "broker-loggers",
)
FLAGS: Final = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
DEFAULTS: Final = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
WITH_DEFAULTS: Final = ("users", "clients", "brokers", "ips")


class Entities(NamedTuple):
    """What the settings belong to; the empty name is the default of its kind."""

    kinds: list[str]
    names: list[str]


def parser() -> Parser:
    options = Parser(
        "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, "
        "client-metrics or group"
    )
    options.takes("bootstrap-server", what="server to connect to", text="The Kafka servers to connect to.")
    options.takes(
        "bootstrap-controller", what="controller to connect to", text="The Kafka controllers to connect to."
    )
    options.takes(
        "command-config",
        what="command config property file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.flag("alter", text="Alter the configuration for the entity.")
    options.flag("describe", text="List configs for the given entity.")
    options.flag("all", text="List all configs for the given entity, including static configs if available.")
    options.takes("entity-type", text=f"Type of entity ({'/'.join(KINDS)})")
    options.takes(
        "entity-name",
        text="Name of entity (topic name/client id/user principal name/broker id/ip/client metrics/group id)",
    )
    options.flag(
        "entity-default",
        text="Default entity name for clients/users/brokers/ips (applies to corresponding entity type)",
    )
    options.takes(
        "add-config",
        text="Key Value pairs of configs to add. Square brackets can be used to group values which contain "
        "commas: 'k1=v1,k2=[v1,v2,v2],k3=v3'.",
    )
    options.takes("add-config-file", text="Path to a properties file with configs to add.")
    options.takes("delete-config", text="config keys to remove 'k1,k2'")
    options.flag("force", text="Suppress console prompts")
    for flag in FLAGS:
        options.takes(flag, text=f"The {flag} whose configs are meant.")
    for flag, kind in DEFAULTS.items():
        options.flag(flag, text=f"The config defaults for all {kind}.")
    return options


def entities_of(given: Given) -> Entities:
    named = [(FLAGS[flag], given.value(flag)) for flag in FLAGS if given.has(flag)]
    named += [(DEFAULTS[flag], "") for flag in DEFAULTS if given.has(flag)]
    kinds = given.values("entity-type") + [kind for kind, _ in named]
    left = given.values("entity-name")
    names = [left.pop(0) if word == "entity-name" else "" for word in given.order if word in _NAMING]
    return Entities(kinds, names + [name for _, name in named])


_NAMING: Final = ("entity-name", "entity-default")


def checked(given: Given) -> Entities:
    """The entities, or the error that Kafka has for what does not go together."""
    if given.has("alter") + given.has("describe") != 1:
        given.refuse("Command must include exactly one action: --describe, --alter")
    given.forbid("describe", "add-config", "delete-config")
    entities = entities_of(given)
    _check_kinds(given, entities.kinds)
    _check_connection(given)
    _check_names(given, entities)
    if given.has("alter"):
        _check_alter(given, entities)
    return entities


def _check_kinds(given: Given, kinds: list[str]) -> None:
    twice = [kind for index, kind in enumerate(kinds) if kind in kinds[:index]]
    if twice:
        raise CommandFailed(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for kind in kinds:
        if kind not in KINDS:
            raise CommandFailed(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(KINDS)} with a "
                "--bootstrap-server or --bootstrap-controller argument"
            )
    if not kinds:
        raise CommandFailed("At least one entity type must be specified")
    if len(kinds) > 1 and set(kinds) != {"users", "clients"}:
        raise CommandFailed("Only 'users' and 'clients' entity types may be specified together")
    if any(given.has(name) for name in ("entity-type", *_NAMING)) and any(
        given.has(flag) for flag in (*FLAGS, *DEFAULTS)
    ):
        raise CommandFailed(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )


def _check_connection(given: Given) -> None:
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        raise CommandFailed("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    if given.has("bootstrap-controller"):
        raise CommandFailed(
            "--bootstrap-controller is not supported yet: give a broker with --bootstrap-server"
        )
    if not given.has("bootstrap-server"):
        raise CommandFailed("Either --bootstrap-server or --bootstrap-controller must be specified.")


def _check_names(given: Given, entities: Entities) -> None:
    kind = entities.kinds[0]
    for name in filter(None, entities.names):
        if kind in ("brokers", "broker-loggers") and not name.lstrip("-").isdecimal():
            raise CommandFailed(
                f"The entity name for {kind} must be a valid integer broker id, but it is: {name}"
            )
        if kind == "ips" and not _is_address(name):
            raise CommandFailed(
                f"The entity name for {kind} must be a valid IP or resolvable host, but it is: {name}"
            )
    if given.has("describe"):
        if given.has("entity-default") and not set(entities.kinds) & set(WITH_DEFAULTS):
            named = ",".join(entities.kinds)
            raise CommandFailed(f"--entity-default must not be specified with --describe of {named}")
        if kind == "broker-loggers" and not any(entities.names):
            raise CommandFailed(f"An entity name must be specified with --describe of {kind}")


def _is_address(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True


def _check_alter(given: Given, entities: Entities) -> None:
    if set(entities.kinds) & set(WITH_DEFAULTS):
        if not entities.names:
            raise CommandFailed(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers "
                "or ips"
            )
    elif not any(entities.names):
        raise CommandFailed(f"An entity name must be specified with --alter of {','.join(entities.kinds)}")
    if given.has("add-config") and given.has("add-config-file"):
        raise CommandFailed("Only one of --add-config or --add-config-file must be specified")
    if not any(given.has(name) for name in ("add-config", "add-config-file", "delete-config")):
        raise CommandFailed(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
            "--alter"
        )
