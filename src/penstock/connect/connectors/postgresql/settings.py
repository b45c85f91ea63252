"""Settings of PostgreSQL's change capture, with Debezium's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.api import ConfigDef, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.guards import Forbidden, allowed_host
from penstock.connect.api.refusals import Mistakes, missing, unsupported
from penstock.connect.errors import ConfigError

_NAME: Final = re.compile(r"[a-z0-9_]{1,63}")


def _slot_name(name: str, value: Any) -> None:
    if not _NAME.fullmatch(str(value)):
        raise ConfigError(name, value, "A slot is named with a to z, 0 to 9 and _")


_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_TEXT, _MANY, _FLAG = Kind.STRING, Kind.LIST, Kind.BOOLEAN
_WHERE, _WHAT, _HOW = "Connection", "Connector", "Advanced"
CONFIG: Final = (
    ConfigDef()
    .define("database.hostname", _TEXT, importance=_HIGH, group=_WHERE, validator=non_empty, doc="The host.")
    .define("database.port", Kind.INT, 5432, importance=_HIGH, group=_WHERE, doc="Its port.")
    .define("database.user", _TEXT, importance=_HIGH, group=_WHERE, doc="A user who may replicate.")
    .define("database.password", Kind.PASSWORD, None, importance=_HIGH, group=_WHERE, doc="The password.")
    .define("database.dbname", _TEXT, importance=_HIGH, group=_WHERE, doc="The database.")
    .define(
        "database.sslmode",
        _TEXT,
        "prefer",
        importance=_MEDIUM,
        group=_WHERE,
        doc="libpq's sslmode.",
        validator=one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    )
    .define(
        "topic.prefix",
        _TEXT,
        importance=_HIGH,
        group=_WHAT,
        validator=non_empty,
        doc="The first part of topics: PREFIX.SCHEMA.TABLE.",
    )
    .define(
        "plugin.name",
        _TEXT,
        "pgoutput",
        importance=_MEDIUM,
        group=_WHERE,
        validator=one_of("pgoutput"),
        doc="The decoding plugin: pgoutput, which comes with the server.",
    )
    .define(
        "slot.name",
        _TEXT,
        "debezium",
        importance=_MEDIUM,
        group=_WHERE,
        validator=_slot_name,
        doc="The replication slot; made if it is missing.",
    )
    .define(
        "slot.drop.on.stop",
        _FLAG,
        False,
        importance=_MEDIUM,
        group=_WHERE,
        doc="Drop the slot when the connector stops. Changes made meanwhile are then lost.",
    )
    .define(
        "publication.name",
        _TEXT,
        "dbz_publication",
        importance=_LOW,
        group=_WHERE,
        validator=non_empty,
        doc="The publication; made if it is missing.",
    )
    .define(
        "publication.autocreate.mode",
        _TEXT,
        "all_tables",
        importance=_MEDIUM,
        group=_WHERE,
        doc="What it is made for: all_tables, filtered (the captured ones), no_tables, or disabled.",
        validator=one_of("all_tables", "filtered", "disabled", "no_tables"),
    )
    .define("schema.include.list", _MANY, [], importance=_HIGH, group=_WHAT, doc="Patterns for SCHEMA.")
    .define("schema.exclude.list", _MANY, [], importance=_MEDIUM, group=_WHAT, doc="Patterns for SCHEMA.")
    .define("table.include.list", _MANY, [], importance=_HIGH, group=_WHAT, doc="Patterns for SCHEMA.TABLE.")
    .define(
        "table.exclude.list", _MANY, [], importance=_MEDIUM, group=_WHAT, doc="Patterns for SCHEMA.TABLE."
    )
    .define(
        "snapshot.mode",
        _TEXT,
        "initial",
        importance=_MEDIUM,
        group=_WHAT,
        doc="initial: all rows, then changes. no_data or never: changes only. initial_only: rows only.",
        validator=one_of("initial", "never", "no_data", "initial_only"),
    )
    .define(
        "tombstones.on.delete",
        _FLAG,
        True,
        importance=_MEDIUM,
        group=_WHAT,
        doc="Whether a deletion is followed by a record without a value.",
    )
    .define(
        "skipped.operations",
        _MANY,
        ["t"],
        importance=_LOW,
        group=_WHAT,
        doc="Operations that are left out: c, u, d, t; or none.",
    )
    .define(
        "decimal.handling.mode",
        _TEXT,
        "precise",
        importance=_MEDIUM,
        group=_WHAT,
        validator=one_of("precise", "double", "string"),
        doc="What NUMERIC becomes.",
    )
    .define(
        "time.precision.mode",
        _TEXT,
        "adaptive",
        importance=_MEDIUM,
        group=_WHAT,
        validator=one_of("adaptive", "adaptive_time_microseconds", "connect"),
        doc="What times become.",
    )
    .define(
        "unavailable.value.placeholder",
        _TEXT,
        "__debezium_unavailable_value",
        importance=_MEDIUM,
        group=_HOW,
        doc="In place of a large value that an update did not touch.",
    )
    .define(
        "heartbeat.interval.ms",
        Kind.INT,
        0,
        importance=_MEDIUM,
        group=_HOW,
        validator=at_least(0),
        doc="How often a heartbeat is written when nothing changes; 0 for never.",
    )
    .define(
        "topic.heartbeat.prefix",
        _TEXT,
        "__debezium-heartbeat",
        importance=_LOW,
        group=_HOW,
        doc="The first part of the topic of heartbeats.",
    )
    .define(
        "heartbeat.action.query",
        _TEXT,
        None,
        importance=_LOW,
        group=_HOW,
        doc="A statement that is run with each heartbeat.",
    )
    .define(
        "signal.data.collection",
        _TEXT,
        None,
        importance=_MEDIUM,
        group=_HOW,
        doc="SCHEMA.TABLE for signals: a row of type execute-snapshot reads tables again.",
    )
    .define(
        "max.batch.size",
        Kind.INT,
        2048,
        importance=_MEDIUM,
        group=_HOW,
        validator=at_least(1),
        doc="How many changes are handed on at a time.",
    )
    .define("max.queue.size", Kind.INT, 8192, importance=_MEDIUM, group=_HOW, doc="Accepted.")
    .define(
        "poll.interval.ms",
        Kind.LONG,
        500,
        importance=_MEDIUM,
        group=_HOW,
        validator=at_least(1),
        doc="Accepted. Changes are looked for ten times a second.",
    )
)


UNSUPPORTED: Final = {
    "column.": "All columns are captured. Use a transform to leave fields out.",
    "message.key.columns": "Keys are primary keys.",
    "provide.transaction.metadata": "",
    "snapshot.select.statement.overrides": "",
    "snapshot.include.collection.list": "Use table.include.list.",
    "snapshot.isolation.mode": "Each table is read in one repeatable-read transaction.",
    "snapshot.lock.timeout.ms": "Tables are not locked.",
    "binary.handling.mode": "Bytes stay bytes.",
    "hstore.handling.mode": "It is text.",
    "interval.handling.mode": "Intervals are numbers of microseconds.",
    "money.fraction.digits": "Money is text.",
    "topic.naming.strategy": "Use RegexRouter.",
    "topic.delimiter": "Use RegexRouter.",
    "signal.enabled.channels": "Signals come from the table.",
    "signal.kafka.": "Signals come from the table.",
    "slot.stream.params": "",
    "slot.failover": "",
    "database.initial.statements": "",
    "database.sslcert": "",
    "database.sslkey": "",
    "database.sslrootcert": "",
    "event.processing.failure.handling.mode": "Use errors.tolerance.",
    "converters": "",
    "custom.metric.tags": "",
    "xmin.fetch.interval.ms": "",
    "publish.via.partition.root": "",
    "replica.identity.autoset.values": "Use ALTER TABLE … REPLICA IDENTITY.",
}


def mistakes(config: Mapping[str, Any]) -> Mistakes:
    found = unsupported(config, UNSUPPORTED) + missing("psycopg")
    for kind in ("schema", "table"):
        if config.get(f"{kind}.include.list") and config.get(f"{kind}.exclude.list"):
            found.append(
                (f"{kind}.exclude.list", f"{kind}.include.list is given already: only one of them may be")
            )
        for name in (f"{kind}.include.list", f"{kind}.exclude.list"):
            found += [
                (name, f"{each!r} is no regular expression") for each in _bad_patterns(config.get(name))
            ]
    try:
        allowed_host(config.get("database.hostname") or "")
    except Forbidden as error:
        found.append(("database.hostname", str(error)))
    return found


def _bad_patterns(given: Any) -> list[str]:
    bad = []
    for each in str(given or "").split(","):
        try:
            re.compile(each)
        except re.error:
            bad.append(each)
    return bad


def captured(settings: Mapping[str, Any], schema: str, table: str) -> bool:
    """Whether the settings choose this table."""

    def listed(name: str, text: str) -> bool:
        return any(re.fullmatch(each, text, re.IGNORECASE) for each in settings[name])

    full = f"{schema}.{table}"
    if listed("schema.exclude.list", schema) or listed("table.exclude.list", full):
        return False
    if settings["schema.include.list"] and not listed("schema.include.list", schema):
        return False
    return not settings["table.include.list"] or listed("table.include.list", full)
