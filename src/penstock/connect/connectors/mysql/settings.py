"""Settings of the change capture of MariaDB and MySQL, with Debezium's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.api import ConfigDef, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.guards import Forbidden, allowed_address
from penstock.connect.api.refusals import Mistakes, missing, unsupported

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_TEXT, _MANY, _FLAG = Kind.STRING, Kind.LIST, Kind.BOOLEAN
CONFIG: Final = (
    ConfigDef()
    .define("database.hostname", _TEXT, importance=_HIGH, validator=non_empty, doc="The host.")
    .define("database.port", Kind.INT, 3306, importance=_HIGH, doc="Its port.")
    .define("database.user", _TEXT, importance=_HIGH, doc="A user who may read and replicate.")
    .define("database.password", Kind.PASSWORD, None, importance=_HIGH, doc="The password.")
    .define(
        "database.server.id", Kind.LONG, 0, importance=_HIGH, validator=at_least(0),
        doc="The number of this reader among the server's replicas; made of topic.prefix if it is 0.",
    )
    .define(
        "database.ssl.mode", _TEXT, "preferred", importance=_MEDIUM,
        validator=one_of("disabled", "preferred", "required", "verify_identity"),
        doc="required: encrypted. verify_identity: and the certificate is checked. Others: not encrypted.",
    )
    .define(
        "topic.prefix", _TEXT, importance=_HIGH, validator=non_empty,
        doc="The first part of topics: PREFIX.DATABASE.TABLE.",
    )
    .define("database.include.list", _MANY, [], importance=_HIGH, doc="Patterns for DATABASE.")
    .define("database.exclude.list", _MANY, [], importance=_MEDIUM, doc="Patterns for DATABASE.")
    .define("table.include.list", _MANY, [], importance=_HIGH, doc="Patterns for DATABASE.TABLE.")
    .define("table.exclude.list", _MANY, [], importance=_MEDIUM, doc="Patterns for DATABASE.TABLE.")
    .define(
        "snapshot.mode", _TEXT, "initial", importance=_MEDIUM,
        validator=one_of("initial", "initial_only", "never", "no_data", "schema_only"),
        doc="initial: all rows, then changes. initial_only: rows only. Others: changes only.",
    )
    .define(
        "include.schema.changes", _FLAG, True, importance=_MEDIUM,
        doc="Whether statements that change the schema are written to the topic PREFIX.",
    )
    .define(
        "tombstones.on.delete", _FLAG, True, importance=_MEDIUM,
        doc="Whether a deletion is followed by a record without a value.",
    )
    .define("skipped.operations", _MANY, ["t"], importance=_LOW, doc="Left out: c, u, d; t always is.")
    .define(
        "decimal.handling.mode", _TEXT, "precise", importance=_MEDIUM,
        validator=one_of("precise", "double", "string"), doc="What DECIMAL becomes.",
    )
    .define(
        "bigint.unsigned.handling.mode", _TEXT, "long", importance=_MEDIUM,
        validator=one_of("long", "precise"), doc="What BIGINT UNSIGNED becomes.",
    )
    .define(
        "time.precision.mode", _TEXT, "adaptive_time_microseconds", importance=_MEDIUM,
        validator=one_of("adaptive_time_microseconds", "connect"), doc="What times become.",
    )
    .define(
        "heartbeat.interval.ms", Kind.INT, 0, importance=_MEDIUM, validator=at_least(0),
        doc="How often a heartbeat is written when nothing changes; 0 for never.",
    )
    .define("topic.heartbeat.prefix", _TEXT, "__debezium-heartbeat", importance=_LOW, doc="Of its topic.")
    .define(
        "max.batch.size", Kind.INT, 2048, importance=_MEDIUM, validator=at_least(1),
        doc="How many changes are handed on at a time.",
    )
    .define("max.queue.size", Kind.INT, 8192, importance=_MEDIUM, doc="Accepted.")
    .define("poll.interval.ms", Kind.LONG, 500, importance=_MEDIUM, doc="Accepted.")
    .define("connect.timeout.ms", Kind.INT, 30_000, importance=_LOW, validator=at_least(1), doc="A limit.")
    .define(
        "schema.history.internal.kafka.topic", _TEXT, "", importance=_LOW,
        doc="Accepted: the binary log itself has the schemas.",
    )
    .define("schema.history.internal.kafka.bootstrap.servers", _TEXT, "", importance=_LOW, doc="Accepted.")
)  # fmt: skip
UNSUPPORTED: Final = {
    "column.": "All columns are captured. Use a transform to leave fields out.",
    "message.key.columns": "Keys are primary keys.",
    "provide.transaction.metadata": "",
    "snapshot.select.statement.overrides": "",
    "snapshot.include.collection.list": "Use table.include.list.",
    "snapshot.locking.mode": "MariaDB needs no lock; MySQL is locked for the moment a snapshot begins.",
    "binary.handling.mode": "Bytes stay bytes.",
    "topic.naming.strategy": "Use RegexRouter.",
    "topic.delimiter": "Use RegexRouter.",
    "signal.": "",
    "incremental.snapshot.": "",
    "gtid.": "",
    "binlog.": "",
    "include.query": "",
    "database.ssl.keystore": "",
    "database.ssl.truststore": "The certificates of the machine are trusted.",
    "event.": "",
    "inconsistent.schema.handling.mode": "",
    "converters": "",
    "read.only": "",
    "enable.time.adjuster": "",
}
HIDDEN: Final = ("mysql", "information_schema", "performance_schema", "sys")


def mistakes(config: Mapping[str, Any]) -> Mistakes:
    found = unsupported(config, UNSUPPORTED) + missing("pymysql", "pymysqlreplication")
    for kind in ("database", "table"):
        include, exclude = f"{kind}.include.list", f"{kind}.exclude.list"
        if config.get(include) and config.get(exclude):
            found.append((exclude, f"{include} is given already: only one of them may be"))
        for name in (include, exclude):
            for each in str(config.get(name) or "").split(","):
                try:
                    re.compile(each)
                except re.error:
                    found.append((name, f"{each!r} is no regular expression"))
    try:
        allowed_address(f"//{config.get('database.hostname') or ''}")
    except Forbidden as error:
        found.append(("database.hostname", str(error)))
    return found


def captured(settings: Mapping[str, Any], database: str, table: str | None) -> bool:
    """Whether the settings choose this table; without a table, whether they choose the database."""

    def listed(name: str, text: str) -> bool:
        return any(re.fullmatch(each, text, re.IGNORECASE) for each in settings[name])

    if database in HIDDEN or listed("database.exclude.list", database):
        return False
    if settings["database.include.list"] and not listed("database.include.list", database):
        return False
    if table is None:
        return True
    full = f"{database}.{table}"
    if listed("table.exclude.list", full):
        return False
    return not settings["table.include.list"] or listed("table.include.list", full)
