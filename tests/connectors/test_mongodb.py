"""MongoDB sink and source with a stand-in for the driver's client: no MongoDB server was there."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from bson.decimal128 import Decimal128
from pymongo.errors import AutoReconnect, BulkWriteError, OperationFailure

from penstock.connect.api import ConnectRecord
from penstock.connect.api.source import SourceOffsets
from penstock.connect.api.test_kit import run_sink, run_source
from penstock.connect.connectors.mongodb import connection
from penstock.connect.connectors.mongodb.documents import operation
from penstock.connect.connectors.mongodb.sink import MongoSink
from penstock.connect.connectors.mongodb.source import MongoSource
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, DataError, RetriableError

USER = s.struct_schema({"name": s.STRING, "sum": s.decimal_schema(2)})


class Mongo:
    """Collections by database and name; events of their change stream, numbered from 1."""

    def __init__(self) -> None:
        self.collections: dict[tuple[str, str], dict[Any, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.requests: list[int] = []
        self.fails: list[Exception] = []
        self.path: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        found = object.__new__(Mongo)
        found.__dict__.update(self.__dict__)
        found.path = (*self.path, name)
        return found

    def bulk_write(self, operations: list[Any], ordered: bool) -> None:
        assert ordered
        self.requests.append(len(operations))
        if self.fails:
            raise self.fails.pop(0)
        documents = self.collections.setdefault((self.path[0], self.path[1]), {})
        for index, each in enumerate(operations):
            kind = type(each).__name__
            key = each._doc["_id"] if kind == "InsertOne" else each._filter["_id"]
            if kind == "InsertOne" and key in documents:
                raise BulkWriteError({"writeErrors": [{"index": index, "code": 11000, "errmsg": "twice"}]})
            if kind != "DeleteOne" and "bad" in (each._doc.get("$set") or each._doc):
                raise BulkWriteError({"writeErrors": [{"index": index, "code": 121, "errmsg": "invalid"}]})
            if kind == "DeleteOne":
                documents.pop(key, None)
            elif kind == "UpdateOne":
                documents[key] = {**documents.get(key, {"_id": key}), **each._doc["$set"]}
            else:
                documents[key] = each._doc

    def list_collection_names(self) -> list[str]:
        return [name for database, name in self.collections if database == self.path[0]]

    def find(self, batch_size: int) -> list[Any]:
        return list(self.collections[self.path[0], self.path[1]].values())

    def watch(self, pipeline: Any, resume_after: Any, **_: Any) -> Any:
        if self.fails:
            raise self.fails.pop(0)
        return Stream(self.events, int(resume_after["_data"]) if resume_after else len(self.events))

    def close(self) -> None:
        pass


class Stream:
    def __init__(self, events: list[dict[str, Any]], at: int) -> None:
        self._events, self._at = events, at

    def try_next(self) -> Any:
        if self._at >= len(self._events):
            return None
        self._at += 1
        return self._events[self._at - 1]

    @property
    def resume_token(self) -> Any:
        return {"_data": str(self._at)}

    def close(self) -> None:
        pass


@pytest.fixture
def mongo(monkeypatch: pytest.MonkeyPatch) -> Mongo:
    made = Mongo()
    monkeypatch.setattr(connection, "client", lambda _settings: made)
    return made


def settings(**more: str) -> dict[str, str]:
    config = {"database": "shop", "max.retries": "2", "retry.backoff.ms": "1"}
    return config | {name.replace("_", "."): value for name, value in more.items()}


def user(offset: int, key: Any, value: Any) -> ConnectRecord:
    return ConnectRecord("users", 0, key, None, value, offset=offset)


def test_documents_are_replaced_and_deleted_by_key(mongo: Mongo) -> None:
    config = settings(document_id_strategy="FullKeyStrategy", delete_on_null_values="true")
    value = Struct(USER, {"name": "Ann", "sum": Decimal("1.20")})
    run_sink(MongoSink, config, [user(0, "a", value), user(1, "b", {"x": 1}), user(2, "b", None)])
    assert mongo.collections["shop", "users"] == {"a": {"_id": "a", "name": "Ann", "sum": Decimal128("1.20")}}


def test_a_batch_that_comes_again_inserts_nothing_twice(mongo: Mongo) -> None:
    config = settings(
        document_id_strategy="com.mongodb.kafka.connect.sink.processor.id.strategy.KafkaMetaDataStrategy",
        writemodel_strategy="InsertOneDefaultStrategy", collection="c", max_batch_size="2",
    )  # fmt: skip
    records = [user(number, None, {"n": number}) for number in range(3)]
    for _ in range(2):
        run_sink(MongoSink, config, records)
    assert list(mongo.collections["shop", "c"]) == [f"users#0#{number}" for number in range(3)]
    assert max(mongo.requests) == 2


def test_updates_and_ids_in_the_record(mongo: Mongo) -> None:
    config = settings(
        document_id_strategy="ProvidedInValueStrategy", writemodel_strategy="UpdateOneDefaultStrategy"
    )
    run_sink(MongoSink, config, [user(0, None, {"_id": 1, "x": 1}), user(1, None, {"_id": 1, "y": 2})])
    assert mongo.collections["shop", "users"] == {1: {"_id": 1, "x": 1, "y": 2}}
    given = MongoSink.CONFIG.parse({**config, "writemodel.strategy": "UpdateOneTimestampsStrategy"})
    stamped = operation(given, user(0, None, {"_id": 1}))
    assert set(stamped._doc) == {"$set", "$setOnInsert"}


def test_a_refused_record_is_rejected_and_those_after_it_are_written(mongo: Mongo) -> None:
    config = settings(document_id_strategy="FullKeyStrategy")
    with pytest.raises(DataError, match="invalid"):
        run_sink(
            MongoSink, config, [user(0, "a", {"x": 1}), user(1, "b", {"bad": 1}), user(2, "c", {"x": 2})]
        )
    assert list(mongo.collections["shop", "users"]) == ["a", "c"]


def test_a_server_that_is_gone_for_a_moment(mongo: Mongo) -> None:
    mongo.fails = [AutoReconnect("gone")]
    run_sink(MongoSink, settings(document_id_strategy="FullKeyStrategy"), [user(0, "a", {"x": 1})])
    assert list(mongo.collections["shop", "users"]) == ["a"]
    mongo.fails = [AutoReconnect("gone")] * 5
    with pytest.raises(RetriableError):
        run_sink(MongoSink, settings(), [user(0, "a", {"x": 1})])


@pytest.mark.parametrize(
    ("ids", "key", "value"),
    [("FullKeyStrategy", None, {}), ("FullKeyStrategy", "k", "text"), ("ProvidedInKeyStrategy", {"a": 1}, {}),
     ("FullKeyStrategy", "k", {"n": 1 << 70}), ("FullKeyStrategy", "k", {"n": Decimal(10) ** 7000})],
)  # fmt: skip
def test_what_has_no_form_as_a_document(mongo: Mongo, ids: str, key: Any, value: Any) -> None:
    with pytest.raises(DataError):
        run_sink(MongoSink, settings(document_id_strategy=ids), [user(0, key, value)])


def change(number: int, kind: str = "insert", document: Any = None) -> dict[str, Any]:
    found = {"_id": {"_data": str(number)}, "operationType": kind, "ns": {"db": "shop", "coll": "users"},
             "documentKey": {"_id": number}}  # fmt: skip
    return found | ({"fullDocument": document} if document else {})


def reached(emitted: list[Any]) -> SourceOffsets:
    return SourceOffsets().advanced([(each.partition, each.offset) for each in emitted])


def test_events_come_from_where_the_last_batch_ended(mongo: Mongo) -> None:
    config = settings(collection="users", topic_prefix="m")
    begun = reached(run_source(MongoSource, config))
    assert not MongoSource(config).has_news(begun)
    mongo.events += [change(1, document={"_id": 1, "a": Decimal128("1.5")}), change(2, "delete")]
    assert MongoSource(config).has_news(begun)
    emitted = run_source(MongoSource, config, begun.items(), polls=2)
    records = [each.record for each in emitted if each.record is not None]
    assert [each.topic for each in records] == ["m.shop.users"] * 2
    assert json.loads(records[0].key) == {"_id": {"_data": "1"}}
    assert json.loads(records[0].value)["fullDocument"] == {"_id": 1, "a": {"$numberDecimal": "1.5"}}
    assert run_source(MongoSource, config, reached(emitted).items(), polls=2) == []


def test_documents_alone_and_what_is_there_first(mongo: Mongo) -> None:
    mongo.collections["shop", "users"] = {1: {"_id": 1}}
    config = settings(startup_mode="copy_existing", publish_full_document_only="true")
    config["publish.full.document.only.tombstone.on.delete"] = "true"
    emitted = run_source(MongoSource, config, polls=3)
    mongo.events += [change(1, "update"), change(2, "delete")]
    emitted += run_source(MongoSource, config, reached(emitted).items(), polls=3)
    records = [each.record for each in emitted if each.record is not None]
    assert [(each.key, each.value) for each in records] == [('{"_id":1}', '{"_id":1}'), ('{"_id":2}', None)]


def test_a_token_that_is_lost_is_said(mongo: Mongo) -> None:
    mongo.fails = [OperationFailure("lost", 286)]
    offsets = [({"ns": "shop"}, {"_id": '{"_data": "1"}'})]
    with pytest.raises(ConnectError, match="Reset its offsets"):
        run_source(MongoSource, settings(), offsets)


def test_every_mistake_is_reported() -> None:
    bad = {"connection.uri": "http://x", "namespace.mapper": "n", "delete.on.null.values": "true"}
    assert {name for name, _ in MongoSink.check(bad)} == {
        "connection.uri", "namespace.mapper", "delete.on.null.values", "database",
    }  # fmt: skip
    for uri in ("mongodb://169.254.169.254", "mongodb://a,169.254.169.254:27017"):
        assert [name for name, _ in MongoSink.check(settings(connection_uri=uri))] == ["connection.uri"]
    assert "connection.uri" in MongoSink.CONFIG.secret
    source = settings(change_stream_full_document="updateLookup", output_format_value="bson")
    assert [name for name, _ in MongoSource.check(source)] == ["output.format.value"]
