"""Records of topics to rows of tables, as Confluent's JdbcSinkConnector: insert, upsert, update and delete.

A batch is one transaction. With `insert` the offsets of the topics stand in a table of the same database
(`penstock.offsets.table`) and are written in that transaction: each record becomes one row, whatever is
killed. `upsert` and deletes may be repeated without a difference, so they need no such table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.connect.api import ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.refusals import Mistakes, require
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.jdbc.settings import connection_keys, shared_mistakes
from penstock.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from penstock.connect.connectors.jdbc.writing import Writer

OFFSETS_TABLE: Final = "penstock_connect_offsets"
KAFKA_FIELDS: Final = ("__connect_topic", "__connect_partition", "__connect_offset")
INSERT, UPSERT, UPDATE = "insert", "upsert", "update"


_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_WRITES, _MAPS, _EVOLVES, _RETRIES = "Writes", "Data Mapping", "DDL Support", "Retries"
_TEXT = Kind.STRING
CONFIG: Final = (
    connection_keys()
    .define(
        "insert.mode",
        _TEXT,
        INSERT,
        importance=_HIGH,
        group=_WRITES,
        doc="insert, upsert or update.",
        validator=one_of(INSERT, UPSERT, UPDATE, ignore_case=True),
        recommended=(INSERT, UPSERT, UPDATE),
    )
    .define(
        "batch.size",
        Kind.INT,
        3000,
        importance=_MEDIUM,
        group=_WRITES,
        validator=at_least(1),
        doc="How many rows one statement carries.",
    )
    .define(
        "delete.enabled",
        Kind.BOOLEAN,
        False,
        importance=_MEDIUM,
        group=_WRITES,
        doc="Whether a record without a value deletes the row of its key. Needs pk.mode=record_key.",
    )
    .define(
        "table.name.format",
        _TEXT,
        "${topic}",
        importance=_MEDIUM,
        group=_MAPS,
        validator=non_empty,
        doc="The table; ${topic} stands for the topic. A dot divides schema and table.",
    )
    .define(
        "pk.mode",
        _TEXT,
        "none",
        importance=_HIGH,
        group=_MAPS,
        doc="Where the primary key is taken from: none, "
        "kafka (topic, partition, offset), record_key or record_value.",
        validator=one_of("none", "kafka", "record_key", "record_value", ignore_case=True),
    )
    .define(
        "pk.fields",
        Kind.LIST,
        [],
        importance=_MEDIUM,
        group=_MAPS,
        doc="The fields of the primary key. Empty: all fields, or Kafka's three.",
    )
    .define(
        "fields.whitelist",
        Kind.LIST,
        [],
        importance=_MEDIUM,
        group=_MAPS,
        doc="The fields of the value that become columns. All if nothing is named.",
    )
    .define(
        "auto.create", Kind.BOOLEAN, False, importance=_MEDIUM, group=_EVOLVES, doc="Make missing tables."
    )
    .define(
        "auto.evolve", Kind.BOOLEAN, False, importance=_MEDIUM, group=_EVOLVES, doc="Add missing columns."
    )
    .define(
        "max.retries",
        Kind.INT,
        10,
        importance=_MEDIUM,
        group=_RETRIES,
        validator=at_least(0),
        doc="How often a batch is tried again when the server is gone, before the task fails.",
    )
    .define(
        "retry.backoff.ms",
        Kind.INT,
        3000,
        importance=_MEDIUM,
        group=_RETRIES,
        validator=at_least(0),
        doc="The pause before the next attempt.",
    )
    .define(
        "penstock.offsets.table",
        _TEXT,
        None,
        importance=_LOW,
        group=_WRITES,
        doc="The table for the offsets of "
        f"the topics, written with the rows. {OFFSETS_TABLE} when insert.mode is insert, and none "
        f"for the "
        "others unless it is named here.",
    )
)


UNSUPPORTED: Final = {
    "table.types": "Rows are written to tables.",
    "date.timezone": "Use db.timezone.",
    "timestamp.precision.mode": "",
    "timestamp.fields.list": "",
    "replace.null.with.default": "Use the converter's setting of the same name.",
    "trim.sensitive.log": "Values of records are never logged.",
}


class JdbcSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        require("sqlalchemy")
        from penstock.connect.connectors.jdbc.writing import Writer

        self._records: list[ConnectRecord] = []
        self._writer: Writer = Writer(config, JdbcSink.CONFIG.parse(config))

    def stored_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._writer.begin(partitions)

    def put(self, records: Sequence[ConnectRecord]) -> None:
        """Kept until `flush`: a transaction that fails because the server was gone is done again as a
        whole."""
        self._records += records

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        self._writer.write(self._records, ends)

    def close(self) -> None:
        self._writer.close()


class JdbcSink(SinkConnector):
    NAMES: ClassVar = ("io.confluent.connect.jdbc.JdbcSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = JdbcSinkTask
    TASK_NAME: ClassVar = "io.confluent.connect.jdbc.sink.JdbcSinkTask"
    GUARANTEE: ClassVar = (
        "exactly once: insert writes the offsets in the transaction of the rows; upsert and delete "
        "give the same "
        "rows when they are repeated"
    )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        mistakes = shared_mistakes(config, UNSUPPORTED)
        mode, pk = (config.get("insert.mode") or INSERT).lower(), (config.get("pk.mode") or "none").lower()
        fields = [each for each in str(config.get("pk.fields") or "").split(",") if each.strip()]
        if str(config.get("delete.enabled")).lower() == "true" and pk != "record_key":
            mistakes.append(("delete.enabled", "Deletes are only supported for pk.mode record_key"))
        if mode in (UPSERT, UPDATE) and pk == "none":
            mistakes.append(("pk.mode", f"Primary key mode must be set when the insert mode is {mode}"))
        if pk == "kafka" and len(fields) not in (0, 3):
            mistakes.append(("pk.fields", "Either none or three names, for topic, partition and offset"))
        if "${topic}" not in (config.get("table.name.format") or "${topic}") and "$" in str(
            config.get("table.name.format")
        ):
            mistakes.append(("table.name.format", "Only ${topic} is replaced"))
        return mistakes
