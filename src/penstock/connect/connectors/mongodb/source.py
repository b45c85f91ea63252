"""Change streams to topics. The offset is the resume token of the last event, committed with the records. It
begins with now (`startup.mode=latest`), or with the documents that are there (`copy_existing`)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, one_of
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.mongodb import connection
from penstock.connect.data import schema as s
from penstock.connect.errors import ConfigError, ConnectError, RetriableError

_HIGH, _MEDIUM, _LOW, _TEXT = Importance.HIGH, Importance.MEDIUM, Importance.LOW, Kind.STRING
COPIED_AT_ONCE: Final = 1_000
log = logging.getLogger(__name__)


def _pipeline(name: str, value: Any) -> None:
    try:
        given = json.loads(value or "[]")
    except ValueError:
        given = None
    if not isinstance(given, list):
        raise ConfigError(name, value, "It must be a JSON array of stages")


CONFIG: Final = (
    ConfigDef()
    .plus(connection.KEYS)
    .define("topic.prefix", _TEXT, "", importance=_MEDIUM, doc="Before DATABASE.COLLECTION, with a dot.")
    .define("topic.suffix", _TEXT, "", importance=_LOW, doc="After DATABASE.COLLECTION, with a dot.")
    .define(
        "pipeline", _TEXT, "[]", importance=_MEDIUM, validator=_pipeline,
        doc="Stages of an aggregation that choose and change events.",
    )
    .define(
        "startup.mode", _TEXT, "latest", importance=_MEDIUM, validator=one_of("latest", "copy_existing"),
        doc="Whether the documents that are there are read first.",
    )
    .define(
        "publish.full.document.only", Kind.BOOLEAN, False, importance=_HIGH,
        doc="Whether values are documents, and not events.",
    )
    .define(
        "publish.full.document.only.tombstone.on.delete", Kind.BOOLEAN, False, importance=_MEDIUM,
        doc="Whether a deletion is then a record without a value. Otherwise it is left out.",
    )
    .define(
        "change.stream.full.document", _TEXT, "default", importance=_HIGH,
        validator=one_of("", "default", "updateLookup", "whenAvailable", "required"),
        doc="updateLookup: an update has the whole document.",
    )
    .define(
        "poll.max.batch.size", Kind.INT, 1000, importance=_LOW, validator=at_least(1),
        doc="Events at a time.",
    )
    .define(
        "poll.await.time.ms", Kind.LONG, 500, importance=_LOW, validator=at_least(1), doc="How long to wait.",
    )
)  # fmt: skip
UNSUPPORTED: Final = {
    "output.format.": "Keys and values are extended JSON, as text.",
    "output.schema.": "Keys and values are extended JSON, as text.",
    "output.json.formatter": "It is MongoDB's older form of extended JSON.",
    "copy.existing": "Use startup.mode.",
    "startup.mode.": "",
    "topic.mapper": "Use RegexRouter.",
    "topic.namespace.map": "Use RegexRouter.",
    "topic.separator": "Use RegexRouter.",
    "heartbeat.": "",
    "offset.partition.name": "",
    "collation": "",
    "batch.size": "Use poll.max.batch.size.",
    "change.stream.": "",
}
_ALLOWED: Final = "change.stream.full.document"


class _Stream:
    """A change stream of what the settings name."""

    def __init__(self, client: Any, given: Mapping[str, Any], token: Any) -> None:
        watched = client
        if given["database"]:
            watched = client[given["database"]]
        if given["collection"]:
            watched = watched[given["collection"]]
        whole = given["change.stream.full.document"]
        self._opened = watched.watch(
            json.loads(given["pipeline"]),
            full_document=None if whole in ("", "default") else whole,
            resume_after=token,
            max_await_time_ms=given["poll.await.time.ms"],
            batch_size=given["poll.max.batch.size"],
        )

    def next(self) -> Any:
        """The next event; None when there is none for a moment."""
        return self._opened.try_next()

    @property
    def token(self) -> Any:
        return self._opened.resume_token

    def close(self) -> None:
        self._opened.close()


def place_of(given: Mapping[str, Any]) -> dict[str, str]:
    return {"ns": ".".join(filter(None, (given["database"], given["collection"]))) or "*"}


def token_of(offsets: SourceOffsets, given: Mapping[str, Any]) -> Any:
    from bson import json_util

    known = offsets.get(place_of(given))
    return None if known is None else json_util.loads(str(known["_id"]))


class MongoSourceTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        self._given = CONFIG.parse(config)
        self._place = place_of(self._given)
        self._token = token_of(offsets, self._given)
        self.whole = self._token is None
        self._client = connection.client(self._given)
        self._stream: _Stream | None = None
        self._portions: Iterator[list[SourceRecord]] | None = None

    def poll(self) -> Sequence[SourceRecord]:
        if self._portions is None:
            self._portions = self._all()
        with connection.errors():
            return next(self._portions, [])

    def _all(self) -> Iterator[list[SourceRecord]]:
        stream = self._stream = _Stream(self._client, self._given, self._token)
        if self._token is None:
            yield from self._beginning(stream)
            return
        gathered: list[SourceRecord] = []
        while (event := stream.next()) is not None:
            gathered.append(SourceRecord(self._place, self._offset(event["_id"]), self._record(event)))
            if len(gathered) >= self._given["poll.max.batch.size"]:
                yield gathered
                gathered = []
        if gathered:
            yield gathered

    def _beginning(self, stream: _Stream) -> Iterator[list[SourceRecord]]:
        """Where the stream begins, before anything is copied: what changes meanwhile comes after it."""
        event = stream.next()
        if stream.token is None:
            raise RetriableError("the change stream has no place to begin yet")
        offset = self._offset(stream.token)
        if self._given["startup.mode"] == "copy_existing":
            copied = self._existing()
            while portion := list(islice(copied, COPIED_AT_ONCE)):
                yield [SourceRecord(self._place, offset, self._record(each)) for each in portion]
        yield [SourceRecord(self._place, offset, None if event is None else self._record(event))]

    def _existing(self) -> Iterator[dict[str, Any]]:
        """The documents that are there, each as the event of its insertion."""
        database = self._client[self._given["database"]]
        names = [self._given["collection"]] if self._given["collection"] else database.list_collection_names()
        for name in names:
            for document in database[name].find(batch_size=COPIED_AT_ONCE):
                yield {
                    "_id": {"_id": document["_id"], "copyingData": True}, "operationType": "insert",
                    "documentKey": {"_id": document["_id"]}, "fullDocument": document,
                    "ns": {"db": self._given["database"], "coll": name},
                }  # fmt: skip

    def _offset(self, token: Any) -> dict[str, str]:
        return {"_id": _text(token)}

    def _record(self, event: Mapping[str, Any]) -> ConnectRecord | None:
        namespace = event.get("ns") or {}
        parts = (
            self._given["topic.prefix"], namespace.get("db") or self._given["database"],
            namespace.get("coll") or "", self._given["topic.suffix"],
        )  # fmt: skip
        topic = ".".join(filter(None, parts))
        if not self._given["publish.full.document.only"]:
            key = _text({"_id": event["_id"]})
            return ConnectRecord(topic, None, key, s.STRING, _text(event), s.STRING)
        key = _text(event.get("documentKey") or {"_id": event["_id"]})
        document = event.get("fullDocument")
        if document is not None:
            return ConnectRecord(topic, None, key, s.STRING, _text(document), s.STRING)
        gone = event.get("operationType") == "delete"
        if gone and self._given["publish.full.document.only.tombstone.on.delete"]:
            return ConnectRecord(topic, None, key, s.STRING)
        return None

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._client.close()


def _text(document: Any) -> str:
    from bson import json_util

    return str(json_util.dumps(document, json_options=json_util.LEGACY_JSON_OPTIONS, separators=(",", ":")))


class MongoSource(SourceConnector):
    NAMES: ClassVar = ("com.mongodb.kafka.connect.MongoSourceConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = MongoSourceTask
    TASK_NAME: ClassVar = "com.mongodb.kafka.connect.source.MongoSourceTask"
    GUARANTEE: ClassVar = "exactly once: the resume token is committed with the records"
    POLL_MS: ClassVar = 100

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._given = CONFIG.parse(config)
        self._client: Any = None
        self._stream: _Stream | None = None

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        given = {name: value for name, value in config.items() if name != _ALLOWED}
        found = connection.connection_mistakes(given, UNSUPPORTED)
        if config.get("collection") and not config.get("database"):
            found.append(("database", "A collection needs its database"))
        if config.get("startup.mode") == "copy_existing" and not config.get("database"):
            found.append(("database", "startup.mode=copy_existing needs it"))
        return found

    def has_news(self, offsets: SourceOffsets) -> bool:
        """Looks at a stream of its own, which is opened again where the last batch ended."""
        token = token_of(offsets, self._given)
        if token is None:
            return True
        try:
            with connection.errors():
                if self._client is None:
                    self._client = connection.client(self._given)
                if self._stream is None:
                    self._stream = _Stream(self._client, self._given, token)
                if self._stream.next() is None:
                    return False
        except RetriableError as error:
            log.warning("%s; it is asked again", error)
            self._drop()
            return False
        self._drop()
        return True

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {"ns"}:
                raise ConnectError("Partition objects should contain the key 'ns' and no other")
            if offset is not None and "_id" not in offset:
                raise ConnectError("Offset objects should either be null or contain the key '_id'")

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def close(self) -> None:
        self._drop()
        if self._client is not None:
            self._client.close()
