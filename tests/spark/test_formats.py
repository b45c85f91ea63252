"""Keys and values with schemas, read as columns and written from them, as Confluent's clients do it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.client.schema_registry import NotRegistered, RegistryError, Schema
from penstock.schemas.protobuf.messages import describe, message_at
from penstock.schemas.wire_format import write_header, write_indexes
from penstock.spark.datasource import PenstockDataSource
from penstock.spark.decoded_reading import DecodeFailed
from penstock.spark.encoding import UnwritableRow
from penstock.spark.format_options import FormatError
from penstock.spark.formats.form import SchemaProblem
from penstock.spark.formats.table import format_named
from tests.peers.registry_stub import RegistryStub, registry_stub
from tests.registry.processes import RegistryProcess

on_our_broker = pytest.mark.parametrize("servers", ["penstock"], indirect=True)

PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
ORDER_1 = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": PRICE},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "old", "type": "string"},
        ],
    }
)
ORDER_2 = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": PRICE},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
)
AT = datetime(2024, 5, 6, 7, 8, 9, 123_000, tzinfo=UTC)
PERSON = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
            "address": {"$ref": "#/definitions/Address"},
            "scores": {"type": "array", "items": {"type": "number"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "open": {},
        },
        "definitions": {"Address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
)
CLICK = """syntax = "proto3";
message Other { int32 x = 1; }
message Click { int64 user = 1; optional string page = 2; repeated string tags = 3; }
"""
NEWER_CLICK = CLICK.replace("repeated string tags = 3;", "double weight = 4;")


@pytest.fixture
def registry() -> Iterator[RegistryStub]:
    with registry_stub() as stub:
        yield stub


def produce(servers: str, topic: str, *values: bytes | None, key: bytes | None = None) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(20) == 0


def source(servers: str, topic: str, **options: str) -> PenstockDataSource:
    named = {name.replace("registry", "schema.registry.url"): value for name, value in options.items()}
    return PenstockDataSource({"kafka.bootstrap.servers": servers, "subscribe": topic, **named})


def read(servers: str, topic: str, **options: str) -> list[dict[str, Any]]:
    wanted = source(servers, topic, **options)
    reader = wanted.reader(wanted.schema())
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def values(servers: str, topic: str, **options: str) -> list[Any]:
    return [row["value"] for row in read(servers, topic, **options)]


@on_our_broker
def test_avro_written_by_confluents_client_is_read_as_columns_and_evolves(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub
) -> None:
    topic = new_topic()
    client = SchemaRegistryClient({"url": registry.url})
    at = SerializationContext(topic, MessageField.VALUE)
    order = {"id": 7, "price": Decimal("12.50"), "at": AT}
    older = AvroSerializer(client, ORDER_1)({**order, "old": "x"}, at)
    newer = AvroSerializer(client, ORDER_2)({**order, "tags": ["a"], "note": "n"}, at)
    produce(servers, topic, older, None, newer)
    options = {"valueFormat": "avro", "registry": registry.url}
    assert source(servers, topic, **options).schema()["value"].dataType.simpleString() == (
        "struct<id:bigint,price:decimal(9,2),at:timestamp,tags:array<string>,note:string>"
    )
    assert values(servers, topic, **options) == [
        {**order, "tags": [], "note": None},
        None,
        {**order, "tags": ["a"], "note": "n"},
    ]
    older_columns = values(servers, topic, valueSchemaVersion="1", onDecodeError="null", **options)
    assert older_columns == [{**order, "old": "x"}, None, None]  # what is newer lacks a field without default
    by_id = [path for path in registry.asked if path.startswith("/schemas/ids/")]
    assert len(by_id) <= 4  # twice by the serialisers, and once each by us


@on_our_broker
def test_json_is_read_with_a_schema_from_a_registry_or_without_one(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub
) -> None:
    framed, plain = new_topic(), new_topic()
    person = {
        "name": "Ada", "age": None, "address": {"city": "Paris"}, "scores": [1, 2.5],
        "labels": {"a": "b"}, "open": {"x": [1]}, "unknown": 1,
    }  # fmt: skip
    number = registry.register(f"{framed}-value", PERSON, "JSON")
    produce(servers, framed, write_header(number) + json.dumps(person).encode())
    produce(servers, plain, json.dumps(person, indent=1).encode(), b'{"age": 3}')
    expected = {
        "name": "Ada", "age": None, "address": {"city": "Paris"}, "scores": [1.0, 2.5],
        "labels": [("a", "b")], "open": '{"x": [1]}',
    }  # fmt: skip
    assert values(servers, framed, valueFormat="json", registry=registry.url) == [expected]
    first, second = values(servers, plain, valueFormat="json", valueSchema=PERSON)
    assert {**first, "open": None} == {**expected, "open": None}
    assert json.loads(first["open"]) == {"x": [1]}
    assert second == {**dict.fromkeys(expected), "age": 3}


@on_our_broker
def test_protobuf_is_read_by_message_and_evolves_by_number(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub
) -> None:
    topic = new_topic()
    older = registry.register(f"{topic}-value", CLICK, "PROTOBUF")
    registry.register(f"{topic}-value", NEWER_CLICK, "PROTOBUF")
    click = GetMessageClass(message_at(describe(CLICK, {}), (1,)))
    body = click(user=5, page="/", tags=["t"]).SerializeToString()
    produce(servers, topic, write_header(older) + write_indexes((1,)) + body)
    options = {"valueFormat": "protobuf", "valueMessage": "Click", "registry": registry.url}
    assert values(servers, topic, **options) == [{"user": 5, "page": "/", "weight": 0.0}]
    with pytest.raises(DecodeFailed, match="it is a message Click, and Other is read"):
        values(servers, topic, valueFormat="protobuf", registry=registry.url)


@on_our_broker
def test_strings_are_text_and_keys_have_a_format_of_their_own(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, "grün".encode(), b"\xff", key=b'{"id": 1}')
    schema = '{"type":"object","properties":{"id":{"type":"integer"}}}'
    options = {"valueFormat": "string", "keyFormat": "json", "keySchema": schema, "onDecodeError": "null"}
    found = read(servers, topic, columns="key,value", **options)
    assert found == [{"key": {"id": 1}, "value": "grün"}, {"key": {"id": 1}, "value": None}]


@on_our_broker
def test_a_value_that_cannot_be_decoded_fails_the_task_with_its_place_and_what_to_do(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub
) -> None:
    topic = new_topic()
    registry.register(f"{topic}-value", ORDER_2)
    produce(servers, topic, b"not framed")
    options = {"valueFormat": "avro", "registry": registry.url}
    sentence = rf"the value at offset 0 of {topic}-0 cannot be decoded: .*without a registry.*onDecodeError"
    with pytest.raises(DecodeFailed, match=sentence):
        read(servers, topic, **options)
    assert values(servers, topic, onDecodeError="null", **options) == [None]


@on_our_broker
def test_dead_letters_keep_the_record_and_say_why_and_from_where(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub
) -> None:
    topic, letters = new_topic(), new_topic()
    schema = '{"type":"object","properties":{"n":{"type":"integer"}}}'
    producer = Producer({"bootstrap.servers": servers})
    for value in (b'{"n": 1}', b'{"n": "x"}', b'{"n": 3}', b"[", b'{"n": 99999999999999999999}'):
        producer.produce(topic, value, b"k", headers=[("trace", b"1")], partition=0)
    assert producer.flush(20) == 0
    options = {"valueFormat": "json", "valueSchema": schema, "onDecodeError": "deadLetter"}
    found = read(servers, topic, columns="value,offset", deadLetterTopic=letters, **options)
    assert [(row["offset"], row["value"]["n"]) for row in found] == [(0, 1), (2, 3)]
    dead = read(servers, letters, includeHeaders="true")
    assert [(row["key"], row["value"]) for row in dead] == [
        *((b"k", b'{"n": "x"}'), (b"k", b"["), (b"k", b'{"n": 99999999999999999999}')),
    ]
    headers = {header["key"]: header["value"] for header in dead[0]["headers"]}
    assert headers.pop("penstock.error.reason").startswith(b"Expected `int | null`, got `str`")
    assert headers == {
        "trace": b"1",
        "penstock.error.field": b"value",
        "penstock.error.topic": topic.encode(),
        "penstock.error.partition": b"0",
        "penstock.error.offset": b"1",
    }


@on_our_broker
@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_columns_are_written_with_a_derived_schema_and_read_back(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub, form: str
) -> None:
    topic = new_topic()
    rows = pa.array(
        [{"id": 1, "name": "a", "tags": ["x"]}, None, {"id": 2, "name": None, "tags": []}],
        pa.struct([("id", pa.int64()), ("name", pa.string()), ("tags", pa.list_(pa.string()))]),
    )
    written = write(servers, topic, rows, valueFormat=form, registry=registry.url)
    assert written == 3
    assert values(servers, topic, valueFormat=form, registry=registry.url) == rows.to_pylist()


@on_our_broker
def test_penstocks_own_registry_serves_readers_and_writers(
    servers: str, new_topic: Callable[..., str]
) -> None:
    column = pa.array([{"id": 1, "name": "a"}], pa.struct([("id", pa.int64()), ("name", pa.string())]))
    with RegistryProcess(servers) as own:
        for form in ("avro", "json", "protobuf"):
            topic = new_topic()
            write(servers, topic, column, valueFormat=form, registry=own.url)
            assert values(servers, topic, valueFormat=form, registry=own.url) == column.to_pylist()


def write(servers: str, topic: str, column: pa.Array, **options: str) -> int:
    batch = pa.record_batch({"value": column})
    named = {name.replace("registry", "schema.registry.url"): value for name, value in options.items()}
    wanted = PenstockDataSource({"kafka.bootstrap.servers": servers, "topic": topic, **named})
    return wanted.writer(from_arrow_schema(batch.schema), overwrite=False).write(iter([batch])).records


@on_our_broker
def test_what_is_written_with_the_subjects_schema_is_read_by_confluents_client(
    servers: str, new_topic: Callable[..., str], registry: RegistryStub
) -> None:
    topic = new_topic()
    registry.register(f"{topic}-value", ORDER_2)
    order = {"id": 7, "price": Decimal("12.50"), "at": AT, "tags": ["a"], "note": None}
    kind = pa.struct(
        [
            ("id", pa.int64()), ("price", pa.decimal128(9, 2)), ("at", pa.timestamp("us", tz="UTC")),
            ("tags", pa.list_(pa.string())), ("note", pa.string()),
        ]
    )  # fmt: skip
    write(servers, topic, pa.array([order], kind), valueFormat="avro", registry=registry.url)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(20)
    consumer.close()
    read_by_client = AvroDeserializer(SchemaRegistryClient({"url": registry.url}))
    assert read_by_client(message.value(), SerializationContext(topic, MessageField.VALUE)) == order
    broken = pa.array([{**order, "id": None}], kind)
    with pytest.raises(UnwritableRow, match="the value of a row cannot be written: it does not fit"):
        write(servers, topic, broken, valueFormat="avro", registry=registry.url)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"valueFormat": "xml"}, "valueFormat is one of bytes, string, json, avro, protobuf"),
        ({"valueFormat": "avro"}, r"needs schema\.registry\.url, or valueSchema"),
        ({"valueFormat": "string", "valueSchema": "x"}, "has no schema"),
        ({"valueFormat": "json", "valueSchema": "{}", "valueMessage": "M"}, "names a Protobuf message"),
        (
            {"valueFormat": "avro", "registry": "http://h:1", "valueSchemaVersion": "new"},
            "a number from 1 on",
        ),
        ({"valueFormat": "avro", "registry": "http://h:1", "subscribe": "a,b"}, "set valueSubject"),
    ],
)
def test_formats_that_cannot_be_meant_are_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        source("localhost:1", **{"topic": "t", **options}).schema()


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ({"onDecodeError": "skip"}, "onDecodeError is fail, null or deadLetter"),
        ({"onDecodeError": "deadLetter"}, "go together"),
        ({"deadLetterTopic": "d"}, "go together"),
    ],
)
def test_what_to_do_with_failures_must_be_whole(errors: dict[str, str], sentence: str) -> None:
    wanted = source("localhost:1", "t", **errors)
    with pytest.raises(FormatError, match=sentence):
        wanted.reader(wanted.schema())


def test_a_registry_without_the_subject_and_one_that_is_not_there_are_told_apart(
    registry: RegistryStub,
) -> None:
    with pytest.raises(NotRegistered, match="subject 't-value' is not in the registry at"):
        source("localhost:1", "t", valueFormat="avro", registry=registry.url).schema()
    with pytest.raises(RegistryError, match="no registry answers"):
        source("localhost:1", "t", valueFormat="avro", registry="http://127.0.0.1:1").schema()
    registry.register("t-value", CLICK, "PROTOBUF")
    with pytest.raises(SchemaProblem, match="subject 't-value' is PROTOBUF, not AVRO"):
        source("localhost:1", "t", valueFormat="avro", registry=registry.url).schema()


@pytest.mark.parametrize(
    ("form", "text", "sentence"),
    [
        ("avro", '["int", "string"]', "union of 2 types besides null"),
        (
            "avro",
            '{"type":"record","name":"N","fields":[{"name":"next","type":["null","N"]}]}',
            "contains itself",
        ),
        ("avro", "nonsense", "not an Avro schema"),
        ("json", "nonsense", "not a JSON Schema"),
        ("json", '{"properties":{"a":{"$ref":"#"}}}', "contains itself"),
        ("json", '{"properties":{"a":{"$ref":"#/gone"}}}', "'#/gone', which is not there"),
        ("protobuf", "nonsense", "not a Protobuf schema"),
        ("protobuf", 'syntax = "proto3"; message A { A a = 1; }', "A contains itself"),
    ],
)
def test_schemas_that_no_column_can_hold_are_refused(form: str, text: str, sentence: str) -> None:
    with pytest.raises(SchemaProblem, match=sentence):
        format_named(form).column(Schema(format_named(form).schema_type, text), None)
