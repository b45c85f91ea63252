"""Topics to collections, in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, one_of
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.retries import Retries, retry_keys
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.mongodb import connection
from penstock.connect.connectors.mongodb.documents import IDS, PACKAGE, SAFE_IDS, WRITES, operation
from penstock.connect.errors import DataError

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_DUPLICATE: Final = 11000
_ID_PACKAGE: Final = f"{PACKAGE}processor.id.strategy."
_WRITE_PACKAGE: Final = f"{PACKAGE}writemodel.strategy."


def _named(package: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (*(package + each for each in names), *names)


CONFIG: Final = (
    ConfigDef()
    .plus(connection.KEYS)
    .define(
        "document.id.strategy", Kind.STRING, f"{_ID_PACKAGE}BsonOidStrategy", importance=_MEDIUM,
        validator=one_of(*_named(_ID_PACKAGE, IDS)), recommended=_named(_ID_PACKAGE, IDS),
        doc="What the id of a document is.",
    )
    .define(
        "writemodel.strategy", Kind.STRING, f"{_WRITE_PACKAGE}DefaultWriteModelStrategy", importance=_MEDIUM,
        validator=one_of(*_named(_WRITE_PACKAGE, WRITES)), recommended=_named(_WRITE_PACKAGE, WRITES),
        doc="Replace, insert, update or delete.",
    )
    .define(
        "delete.on.null.values", Kind.BOOLEAN, False, importance=_MEDIUM,
        doc="Whether a record without a value deletes the document of its key. Otherwise it is left out.",
    )
    .define(
        "max.batch.size", Kind.INT, 0, importance=_MEDIUM, validator=at_least(0),
        doc="The most records of one request; 0 for no limit.",
    )
    .define("bulk.write.ordered", Kind.BOOLEAN, True, importance=_LOW, doc="Accepted: order is kept.")
    .plus(retry_keys(3, 5000))
)  # fmt: skip
UNSUPPORTED: Final = {
    "topic.override.": "Make a connector for each topic.",
    "namespace.mapper": "Use transforms that change the topic.",
    "post.processor.chain": "Use transforms.",
    "change.data.capture.handler": "",
    "document.id.strategy.": "",
    "delete.writemodel.strategy": "",
    "field.renamer.": "Use ReplaceField.",
    "key.projection.": "Use ReplaceField.",
    "value.projection.": "Use ReplaceField.",
    "timeseries.": "",
    "rate.limiting.": "",
    "max.num.retries": "Use max.retries.",
    "retries.defer.timeout": "Use retry.backoff.ms.",
}


class MongoSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._given = CONFIG.parse(config)
        self._retries = Retries(self._given["max.retries"], self._given["retry.backoff.ms"])
        self._safe = self._given["document.id.strategy"].rpartition(".")[2] in SAFE_IDS
        self._client = connection.client(self._given)

    def put(self, records: Sequence[ConnectRecord]) -> None:
        """Records of one collection that follow each other are one request."""
        gathered: dict[str, list[tuple[ConnectRecord, Any]]] = {}
        for record in records:
            try:
                name, made = self._collection(record.topic), operation(self._given, record)
            except DataError as error:
                self.reject(record, error)
                continue
            if made is not None:
                gathered.setdefault(name, []).append((record, made))
        most = self._given["max.batch.size"] or len(records) or 1
        for name, made_all in gathered.items():
            for start in range(0, len(made_all), most):
                self._write(name, made_all[start : start + most])

    def _write(self, name: str, group: list[tuple[ConnectRecord, Any]]) -> None:
        """In order. A record that is refused is rejected, and those after it are written."""
        from pymongo.errors import BulkWriteError

        collection = self._client[self._given["database"]][name]

        def attempt() -> None:
            with connection.errors():
                collection.bulk_write([each for _, each in group], ordered=True)

        while group:
            try:
                self._retries.run(attempt)
                return
            except BulkWriteError as error:
                found = (error.details or {}).get("writeErrors") or []
                if not found:
                    raise
                first = found[0]
                record = group[first["index"]][0]
                if not (first.get("code") == _DUPLICATE and self._safe):  # otherwise it came again
                    self.reject(record, DataError(f"MongoDB refused it: {first.get('errmsg')}"))
                group = group[first["index"] + 1 :]

    def _collection(self, topic: str) -> str:
        name: str = self._given["collection"] or topic
        if "$" in name or "\0" in name or name.startswith(("system.", ".")) or name.endswith("."):
            raise DataError(f"{name!r} is no name of a collection")
        return name

    def close(self) -> None:
        self._client.close()


class MongoSink(SinkConnector):
    NAMES: ClassVar = ("com.mongodb.kafka.connect.MongoSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = MongoSinkTask
    TASK_NAME: ClassVar = "com.mongodb.kafka.connect.sink.MongoSinkTask"
    GUARANTEE: ClassVar = (
        "exactly once in effect when ids follow from records (KafkaMetaData, FullKey, ProvidedIn…); at least "
        "once with BsonOidStrategy and UuidStrategy"
    )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = connection.connection_mistakes(config, UNSUPPORTED)
        if not config.get("database"):
            found.append(("database", "It is needed"))
        deletes = str(config.get("delete.on.null.values")).lower() == "true"
        ids = str(config.get("document.id.strategy") or "BsonOidStrategy").rpartition(".")[2]
        if deletes and ids not in ("FullKeyStrategy", "ProvidedInKeyStrategy"):
            found.append(("delete.on.null.values", "It needs FullKeyStrategy or ProvidedInKeyStrategy"))
        return found
