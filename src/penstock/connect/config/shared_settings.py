"""Settings that every connector has, with Kafka's names, defaults and groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from penstock.connect.api.config_def import (
    ConfigDef,
    ConfigKey,
    Importance,
    Kind,
    Width,
    at_least,
    list_text,
    non_empty,
    one_of,
)
from penstock.connect.converters.table import CONVERTERS, HEADER_CONVERTERS
from penstock.connect.errors import ConfigError

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
COMMON, ERRORS = "Common", "Error Handling"
TASKS_MAX: Final = "tasks.max"
TOLERANCE: Final = "errors.tolerance"
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
RESTARTS: Final = "penstock.restart.max"
RESTART_DELAY: Final = "penstock.restart.delay.ms"


def key(
    name: str,
    kind: Kind,
    default: Any,
    importance: Importance,
    width: Width,
    group: str,
    order: int,
    shown: str,
    doc: str,
    **more: Any,
) -> ConfigKey:
    return ConfigKey(
        name, kind, default, importance, doc,
        group=group, order=order, width=width, display_name=shown, **more,
    )  # fmt: skip


def connector_name(name: str, value: Any) -> None:
    if value is None:
        return
    if not value:
        raise ConfigError(name, value, "String may not be empty")
    controls = [str(ord(character)) for character in value if ord(character) < 32 or ord(character) == 127]
    if controls:
        had = f"but had the following ASCII chars: {', '.join(controls)}"
        raise ConfigError(name, value, f"String may not contain control sequences {had}")


def aliases(name: str, value: Any) -> None:
    if value is not None and len(set(value)) < len(value):
        raise ConfigError(name, list_text(value), "Duplicate alias provided.")


def _versioned(name: str, order: int, shown: str, version: str | None) -> ConfigKey:
    return key(name, Kind.STRING, version, LOW, Width.SHORT, COMMON, order, shown, "Its version.",
               recommended=() if version is None else (version,))  # fmt: skip


def without_default(found: ConfigKey) -> ConfigKey:
    return replace(found, default=None, recommended=())


def renamed(found: ConfigKey, name: str) -> ConfigKey:
    return replace(found, name=name, display_name=found.display_name or found.name)


def common(
    version: str, key_converter: str | None, value_converter: str | None, header_converter: str | None
) -> ConfigDef:
    """Of sources and sinks alike; the converters are the worker's, unless the connector has its own."""
    text, whole, yes_no, many = Kind.STRING, Kind.LONG, Kind.BOOLEAN, Kind.LIST
    short, medium, long = Width.SHORT, Width.MEDIUM, Width.LONG
    keys = (
        ConfigKey(
            "name", text, importance=HIGH, doc="The name of the connector, one in the whole cluster.",
            group=COMMON, order=1, width=medium, display_name="Connector name", validator=connector_name,
        ),
        ConfigKey(
            "connector.class", text, importance=HIGH, group=COMMON, order=2, width=long,
            doc="The class of the connector, in full or short.", display_name="Connector class",
        ),
        key("connector.plugin.version", text, version, MEDIUM, medium, COMMON, 3, "Connector version",
            "The version of the connector.", recommended=(version,)),
        key(TASKS_MAX, Kind.INT, 1, HIGH, short, COMMON, 4, "Tasks max",
            "How many tasks the connector may have at most.", validator=at_least(1)),
        key("tasks.max.enforce", yes_no, True, LOW, short, COMMON, 5, "Enforce tasks max",
            "Whether more tasks than tasks.max are an error."),
        key("key.converter", Kind.CLASS, key_converter, LOW, short, COMMON, 6, "Key converter class",
            "The converter of keys.", recommended=CONVERTERS),
        _versioned("key.converter.plugin.version", 7, "Key converter version",
                   version if key_converter else None),
        key("value.converter", Kind.CLASS, value_converter, LOW, short, COMMON, 8, "Value converter class",
            "The converter of values.", recommended=CONVERTERS),
        _versioned("value.converter.plugin.version", 9, "Value converter version",
                   version if value_converter else None),
        key("header.converter", Kind.CLASS, header_converter, LOW, short, COMMON, 10,
            "Header converter class", "The converter of headers.", recommended=HEADER_CONVERTERS),
        _versioned("header.converter.plugin.version", 11, "Header converter version",
                   version if header_converter else None),
        key("transforms", many, [], LOW, long, "Transforms", 12, "Transforms",
            "Names of the transforms, in their order.", validator=aliases),
        key("predicates", many, [], LOW, long, "Predicates", 13, "Predicates",
            "Names of the predicates that transforms refer to.", validator=aliases),
        key("config.action.reload", text, "restart", LOW, medium, COMMON, 14, "Reload Action",
            "What happens when a secret changes.", validator=one_of("none", "restart")),
        key("errors.retry.timeout", whole, 0, MEDIUM, medium, ERRORS, 1, "Retry Timeout for Errors",
            "For how many milliseconds a failed operation is tried again; -1 for ever."),
        key("errors.retry.delay.max.ms", whole, 60000, MEDIUM, medium, ERRORS, 2,
            "Maximum Delay Between Retries for Errors", "The longest pause between two attempts."),
        key(TOLERANCE, text, "none", MEDIUM, short, ERRORS, 3, "Error Tolerance",
            "none: a bad record fails its task. all: it is passed over.", validator=one_of("none", "all")),
        key("errors.log.enable", yes_no, False, MEDIUM, short, ERRORS, 4, "Log Errors",
            "Whether records that are passed over are logged."),
        key("errors.log.include.messages", yes_no, False, MEDIUM, short, ERRORS, 5, "Log Error Details",
            "Whether that log has the record's place, too."),
    )  # fmt: skip
    return ConfigDef(keys)


SOURCE: Final = (
    key("topic.creation.groups", Kind.LIST, [], LOW, Width.LONG, "Topic Creation", 1, "Topic Creation Groups",
        "Groups of topics with settings of their own.", validator=aliases),
    key("exactly.once.support", Kind.STRING, "requested", MEDIUM, Width.SHORT, "Exactly Once Support", 2,
        "Exactly once support", "requested or required: every source here is exactly once.",
        validator=one_of("REQUIRED", "REQUESTED", ignore_case=True)),
    key("transaction.boundary", Kind.STRING, "poll", MEDIUM, Width.SHORT, "Exactly Once Support", 3,
        "Transaction Boundary", "poll: a transaction for each batch. interval: one for each interval. "
        "connector: no transaction of the source is divided.",
        validator=one_of("INTERVAL", "POLL", "CONNECTOR", ignore_case=True)),
    key("transaction.boundary.interval.ms", Kind.LONG, None, LOW, Width.SHORT, "Exactly Once Support", 4,
        "Transaction boundary interval", "The least time between two transactions."),
    key("offsets.storage.topic", Kind.STRING, None, LOW, Width.LONG, "offsets.topic", 1, "Offsets topic",
        "A topic of its own for the offsets of this connector.", validator=non_empty),
)  # fmt: skip
SINK: Final = (
    key("topics", Kind.LIST, [], HIGH, Width.LONG, COMMON, 4, "Topics", "The topics to read."),
    key("topics.regex", Kind.STRING, "", HIGH, Width.LONG, COMMON, 4, "Topics regex",
        "A regular expression for the names of the topics to read."),
)  # fmt: skip
DEAD_LETTER_KEYS: Final = (
    key(DEAD_LETTERS, Kind.STRING, "", MEDIUM, Width.MEDIUM, ERRORS, 6, "Dead Letter Queue Topic Name",
        "The topic for records that are passed over; none if it is empty."),
    key("errors.deadletterqueue.topic.replication.factor", Kind.SHORT, 3, MEDIUM, Width.MEDIUM, ERRORS, 7,
        "Dead Letter Queue Topic Replication Factor", "Its replicas, if it has to be made."),
    key("errors.deadletterqueue.context.headers.enable", Kind.BOOLEAN, False, MEDIUM, Width.MEDIUM, ERRORS, 8,
        "Enable Error Context Headers", "Whether headers say why and where a record failed."),
)  # fmt: skip
PENSTOCK: Final = (
    key(RESTARTS, Kind.INT, 0, LOW, Width.SHORT, "Penstock", 1, "Restarts of failed tasks",
        "How often a failed task is started again by itself; 0 leaves that to a person, as Kafka does.",
        validator=at_least(0)),
    key(RESTART_DELAY, Kind.LONG, 10_000, LOW, Width.SHORT, "Penstock", 2, "Delay before a restart",
        "How long a failed task rests before it is started again; it doubles each time.",
        validator=at_least(0)),
)  # fmt: skip
"""Settings that Kafka does not have; they are read, and not listed among Kafka's."""
