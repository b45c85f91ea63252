"""Topics to files, with the names and settings of Confluent's S3 and HDFS sinks.

A file is named TOPIC+PARTITION+OFFSET of its first record. When all files of a batch are there, a note
beside them says up to which offset (`TOPICS.DIR/.penstock/TOPIC/PARTITION.json`). A batch that died left
files with later offsets: they are deleted before the next batch is written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.refusals import Mistakes, missing, unsupported
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.files.formats import FORMATS, Packing, encoded
from penstock.connect.connectors.files.partitioners import NAMES, partitioner
from penstock.connect.connectors.files.places import KEYS, place_mistakes
from penstock.connect.connectors.files.stores import Store
from penstock.connect.errors import ConfigError, ConnectError, DataError
from penstock.protocol.topic_partition import TopicPartition

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_TEXT = Kind.STRING
CONFIG: Final = (
    ConfigDef()
    .plus(KEYS)
    .define(
        "topics.dir", _TEXT, "topics", importance=_HIGH, validator=non_empty, doc="The folder of all topics."
    )
    .define(
        "format.class",
        _TEXT,
        importance=_HIGH,
        validator=one_of(*FORMATS),
        recommended=tuple(FORMATS),
        doc="JSON lines, CSV, Avro or Parquet.",
    )
    .define(
        "flush.size", Kind.INT, importance=_HIGH, validator=at_least(1), doc="The most records of a file."
    )
    .define(
        "rotate.interval.ms",
        Kind.LONG,
        -1,
        importance=_HIGH,
        doc="The longest time that the records of one file span; -1 for no limit.",
    )
    .define(
        "rotate.schedule.interval.ms",
        Kind.LONG,
        -1,
        importance=_MEDIUM,
        doc="Accepted: a file ends with its batch, which is sooner.",
    )
    .define(
        "s3.compression.type",
        _TEXT,
        "none",
        importance=_LOW,
        validator=one_of("none", "gzip"),
        doc="Of JSON and CSV files: none or gzip.",
    )
    .define(
        "avro.codec",
        _TEXT,
        "null",
        importance=_LOW,
        validator=one_of("null", "deflate", "snappy", "bzip2"),
        doc="Of Avro files.",
    )
    .define(
        "parquet.codec",
        _TEXT,
        "snappy",
        importance=_LOW,
        validator=one_of("none", "gzip", "snappy", "lz4", "brotli", "zstd"),
        doc="Of Parquet files.",
    )
    .define(
        "behavior.on.null.values",
        _TEXT,
        "fail",
        importance=_LOW,
        validator=one_of("fail", "ignore"),
        doc="What a record without a value does: fail, or ignore.",
    )
    .define(
        "partitioner.class",
        _TEXT,
        NAMES[0],
        importance=_HIGH,
        validator=one_of(*NAMES),
        recommended=NAMES,
        doc="Into which folder a record goes.",
    )
    .define(
        "partition.field.name", Kind.LIST, [], importance=_MEDIUM, doc="The fields of the field partitioner."
    )
    .define(
        "partition.duration.ms",
        Kind.LONG,
        3_600_000,
        importance=_MEDIUM,
        validator=at_least(1),
        doc="How long a folder of the time-based partitioner is.",
    )
    .define(
        "path.format",
        _TEXT,
        "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
        importance=_MEDIUM,
        doc="The folder of the time-based partitioner.",
    )
    .define("timezone", _TEXT, "UTC", importance=_MEDIUM, doc="The time zone of folders.")
    .define("locale", _TEXT, "en", importance=_LOW, doc="Accepted: folders hold numbers only.")
    .define(
        "timestamp.extractor",
        _TEXT,
        "Record",
        importance=_MEDIUM,
        validator=one_of("Record", "RecordField"),
        doc="Record: the record's time. RecordField: that of timestamp.field.",
    )
    .define("timestamp.field", _TEXT, "timestamp", importance=_MEDIUM, doc="The field with the time.")
    .define("storage.class", _TEXT, "", importance=_LOW, doc="Accepted: store.url decides.")
)
UNSUPPORTED: Final = {
    "s3.part.size": "",
    "s3.credentials.provider.class": "",
    "s3.sse.": "",
    "s3.ssea.name": "",
    "s3.proxy.": "",
    "s3.object.tagging": "",
    "hive.": "",
    "hadoop.": "",
    "hdfs.authentication.kerberos": "",
    "connect.hdfs.": "",
    "store.kafka.keys": "",
    "store.kafka.headers": "",
    "schema.compatibility": "",
}


class FilesSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        given = CONFIG.parse(config)
        self._store = Store(config, given)
        self._folder_of = partitioner(given)
        self._dir: str = given["topics.dir"].strip("/")
        self._kind = FORMATS[given["format.class"]]
        self._packing = Packing(
            given["s3.compression.type"] == "gzip", given["avro.codec"], given["parquet.codec"]
        )
        self._skips_nulls = given["behavior.on.null.values"] == "ignore"
        self._most: int = given["flush.size"]
        self._span_ms: int = given["rotate.interval.ms"]
        self._open: dict[tuple[str, int, str], list[ConnectRecord]] = {}
        self._name = config.get("name", "")
        self._begun: set[TopicPartition] = set()
        """Partitions that have a note of where they begin."""
        self._first: dict[TopicPartition, int] = {}

    def stored_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        found = {}
        for place in partitions:
            noted = self._noted(place)
            if noted is not None:
                found[place] = int(noted["next_offset"])
                self._clear(place, found[place])
        self._begun = set(found)
        return found

    def _noted(self, place: TopicPartition) -> dict[str, Any] | None:
        """What the files of a partition hold. They belong to one connector: another one would take its
        offsets for its own, and delete what it has not written."""
        text = self._store.read(self._note(place))
        if not text:
            return None
        noted: dict[str, Any] = json.loads(text)
        owner = noted.get("connector", self._name)
        if owner != self._name:
            raise ConnectError(
                f"the files of {place} in {self._dir or 'the store'} belong to the connector {owner}: "
                f"choose another topics.dir, or delete {self._note(place)} if that connector is gone"
            )
        return noted

    def _clear(self, place: TopicPartition, known: int) -> None:
        """Files of a batch that did not reach its end."""
        begin = f"{place.topic}+{place.partition}+"
        for path in self._store.list(f"{self._dir}/{place.topic}"):
            name = path.rpartition("/")[2]
            number = name.removeprefix(begin).partition(".")[0]
            if name.startswith(begin) and number.isdigit() and int(number) >= known:
                self._store.delete(path)

    def put(self, records: Sequence[ConnectRecord]) -> None:
        for record in records:
            if record.value is None:
                self._null(record)
                continue
            key = (record.topic, record.partition or 0, self._folder_of(record))
            self._first.setdefault(TopicPartition(*key[:2]), record.offset or 0)
            waiting = self._open.setdefault(key, [])
            if waiting and self._is_full(waiting, record):
                self._write(key, waiting)
                waiting.clear()
            waiting.append(record)

    def _null(self, record: ConnectRecord) -> None:
        if not self._skips_nulls:
            raise DataError(
                f"the record of {record.topic} at {record.offset} has no value (behavior.on.null.values=fail)"
            )

    def _is_full(self, waiting: list[ConnectRecord], record: ConnectRecord) -> bool:
        first = waiting[0]
        if len(waiting) >= self._most or record.value_schema != first.value_schema:
            return True
        return 0 <= self._span_ms <= (record.timestamp or 0) - (first.timestamp or 0)

    def _write(self, key: tuple[str, int, str], records: list[ConnectRecord]) -> None:
        topic, number, folder = key
        self._begin(TopicPartition(topic, number))
        name = f"{topic}+{number}+{records[0].offset or 0:010d}.{self._packing.ending(self._kind)}"
        self._store.write(f"{self._dir}/{topic}/{folder}/{name}", encoded(self._kind, records, self._packing))

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        for key, records in self._open.items():
            if records:
                self._write(key, records)
        self._open.clear()
        for place, end in ends.items():
            self._tell(place, end)

    def _begin(self, place: TopicPartition) -> None:
        """Before the first file of a partition: files that stand there already, of another sink perhaps that
        ours goes on for, are not of this batch and stay if it dies."""
        if place not in self._begun:
            if self._noted(place) is None:
                self._tell(place, self._first[place])
            self._begun.add(place)

    def _tell(self, place: TopicPartition, end: int) -> None:
        noted = {"next_offset": end, "connector": self._name}
        self._store.write(self._note(place), json.dumps(noted).encode())

    def _note(self, place: TopicPartition) -> str:
        return f"{self._dir}/.penstock/{place.topic}/{place.partition}.json"


class FilesSink(SinkConnector):
    NAMES: ClassVar = (
        "io.confluent.connect.s3.S3SinkConnector",
        "io.confluent.connect.hdfs.HdfsSinkConnector",
        "io.confluent.connect.hdfs3.Hdfs3SinkConnector",
        "penstock.DirectorySinkConnector",
    )
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = FilesSinkTask
    TASK_NAME: ClassVar = "io.confluent.connect.s3.S3SinkTask"
    GUARANTEE: ClassVar = (
        "exactly once: names follow from offsets, and files of an unfinished batch are deleted"
    )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = unsupported(config, UNSUPPORTED) + missing("pyarrow") + place_mistakes(config)
        if ".." in str(config.get("topics.dir") or "").split("/"):
            found.append(("topics.dir", "It may not lead out of the store"))
        if "FieldPartitioner" in str(config.get("partitioner.class")) and not config.get(
            "partition.field.name"
        ):
            found.append(("partition.field.name", "The field partitioner needs it"))
        try:
            partitioner(CONFIG.parse(config))
        except (ConfigError, KeyError, ValueError, OSError) as error:
            if getattr(error, "name", "") == "path.format" or not isinstance(error, ConfigError):
                found.append(("path.format" if isinstance(error, ConfigError) else "timezone", str(error)))
        return found
