"""Registry serializers: with producers and consumers, and read and written by Confluent's own for Python."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.duration_pb2 import Duration
from google.type.money_pb2 import Money
from google.type.postal_address_pb2 import PostalAddress

from penstock.client import (
    Consumer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaJsonSchemaDeserializer,
    KafkaJsonSchemaSerializer,
    KafkaProtobufDeserializer,
    KafkaProtobufSerializer,
    Producer,
    StringDeserializer,
    StringSerializer,
    TopicPartition,
)
from penstock.client.api.exceptions import ConfigException, SerializationException
from penstock.client.schema_registry import NotRegistered, Reference, Schema, SchemaRegistry
from penstock.schemas.wire_format import read_header
from tests.client.api.conftest import poll_until

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    ],
}
VALUE = {"id": 7, "note": "quick", "at": datetime(2026, 1, 2, tzinfo=UTC), "price": Decimal("9.50")}
JSON_ORDER = {
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
PROTO_ORDER = (
    'syntax = "proto3"; package shop; message Other { int32 x = 1; } message Order { int64 id = 1; }'
)


@dataclass
class Named:
    id: int
    note: str | None
    at: datetime
    price: Decimal


def made(kind: Any, *arguments: Any, url: str, is_key: bool = False, **settings: Any) -> Any:
    serde = kind(*arguments)
    named = {name.replace("_", "."): value for name, value in settings.items()}
    serde.configure({"schema.registry.url": url, **named}, is_key)
    return serde


def of_value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_a_producer_and_a_consumer_take_them_as_settings(servers: str, registry_url: str, topic: str) -> None:
    common = {"bootstrap.servers": servers, "schema.registry.url": registry_url}
    with Producer(
        {**common, "key.serializer": StringSerializer, "value.serializer": KafkaAvroSerializer(ORDER)}
    ) as producer:
        producer.send(topic, VALUE, key="k").result(20)
        producer.send(topic, Named(8, None, VALUE["at"], Decimal("1.25"))).result(20)  # type: ignore[arg-type]
        producer.send(topic, None, key="k").result(20)
    settings = {**common, "auto.offset.reset": "earliest", "key.deserializer": StringDeserializer}
    java = "io.confluent.kafka.serializers.KafkaAvroDeserializer"
    with Consumer({**settings, "value.deserializer": java}) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        records = poll_until(consumer, 3)
    assert [each.value and each.value["id"] for each in records] == [7, 8, None]
    assert records[0].value == VALUE
    assert SchemaRegistry(registry_url).latest(f"{topic}-value").version == 1


def test_confluents_avro_reads_ours_and_ours_reads_confluents(registry_url: str, topic: str) -> None:
    client = SchemaRegistryClient({"url": registry_url})
    ours = made(KafkaAvroSerializer, ORDER, url=registry_url)
    assert AvroDeserializer(client)(ours.serialize(topic, VALUE), of_value(topic)) == VALUE
    theirs = AvroSerializer(client, SchemaRegistry(registry_url).latest(f"{topic}-value").schema.text)
    written = theirs(VALUE, of_value(topic))
    assert written == ours.serialize(topic, VALUE)
    assert made(KafkaAvroDeserializer, url=registry_url).deserialize(topic, written) == VALUE


def test_avro_is_read_as_the_readers_schema_sees_it(registry_url: str, topic: str) -> None:
    data = made(KafkaAvroSerializer, ORDER, url=registry_url).serialize(topic, VALUE)
    newer = {
        **ORDER,
        "fields": [
            {"name": "id", "type": "double"},
            {"name": "kind", "type": "string", "default": "retail"},
        ],
    }
    reader = made(KafkaAvroDeserializer, newer, url=registry_url)
    assert reader.deserialize(topic, data) == {"id": 7.0, "kind": "retail"}


def test_avro_follows_references(registry_url: str, topic: str) -> None:
    registry = SchemaRegistry(registry_url)
    part = '{"type":"record","name":"Item","namespace":"shop","fields":[{"name":"n","type":"int"}]}'
    registry.register(f"{topic}-item", Schema("AVRO", part))
    whole = '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"i","type":"shop.Item"}]}'
    refers = (Reference("shop.Item", f"{topic}-item", 1),)
    registry.register(f"{topic}-value", Schema("AVRO", whole, (("shop.Item", part),), refers))
    serializer = made(
        KafkaAvroSerializer, url=registry_url, use_latest_version=True, auto_register_schemas=False
    )
    data = serializer.serialize(topic, {"i": {"n": 3}})
    assert made(KafkaAvroDeserializer, url=registry_url).deserialize(topic, data) == {"i": {"n": 3}}


def test_what_is_not_registered_is_not_written_without_registering(registry_url: str, topic: str) -> None:
    serializer = made(KafkaAvroSerializer, ORDER, url=registry_url, auto_register_schemas=False)
    with pytest.raises(SerializationException, match="not in the registry"):
        serializer.serialize(topic, VALUE)
    with pytest.raises(NotRegistered):
        SchemaRegistry(registry_url).latest(f"{topic}-value")
    made(KafkaAvroSerializer, ORDER, url=registry_url).serialize(topic, VALUE)
    assert serializer.serialize(topic, VALUE) is not None


def test_the_latest_version_is_used_when_asked_for(registry_url: str, topic: str) -> None:
    newer = {**ORDER, "fields": [*ORDER["fields"], {"name": "kind", "type": "string", "default": "retail"}]}
    made(KafkaAvroSerializer, ORDER, url=registry_url).serialize(topic, VALUE)
    wide = made(KafkaAvroSerializer, newer, url=registry_url).serialize(topic, {**VALUE, "kind": "x"})
    latest = {"use_latest_version": True, "auto_register_schemas": False}
    data = made(KafkaAvroSerializer, ORDER, url=registry_url, **latest).serialize(topic, VALUE)
    assert read_header(data) == read_header(wide)
    other = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": "id", "type": "string"}],
    }
    with pytest.raises(SerializationException, match="Incompatible schema"):
        made(KafkaAvroSerializer, other, url=registry_url, **latest).serialize(topic, {"id": "x"})
    by_id = made(KafkaAvroSerializer, url=registry_url, use_schema_id=read_header(data))
    assert read_header(by_id.serialize("any", VALUE)) == read_header(data)
    with pytest.raises(ConfigException, match=r"auto.register.schemas=false"):
        made(KafkaAvroSerializer, url=registry_url, use_latest_version=True, auto_register_schemas=True)


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("io.confluent.kafka.serializers.subject.TopicNameStrategy", "{topic}-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "shop.Order"),
        ("TopicRecordNameStrategy", "{topic}-shop.Order"),
        (lambda topic, is_key, record: f"mine-{topic}-{record}", "mine-{topic}-shop.Order"),
    ],
)
def test_a_strategy_names_the_subject(registry_url: str, topic: str, strategy: Any, subject: str) -> None:
    wanted = subject.format(topic=topic)
    named = {"value_subject_name_strategy": strategy}
    data = made(KafkaAvroSerializer, ORDER, url=registry_url, **named).serialize(topic, VALUE)
    assert SchemaRegistry(registry_url).latest(wanted).schema_id == read_header(data)


def test_json_is_checked_only_when_asked_and_confluents_reads_it(registry_url: str, topic: str) -> None:
    lax = made(KafkaJsonSchemaSerializer, JSON_ORDER, url=registry_url)
    strict = made(KafkaJsonSchemaSerializer, JSON_ORDER, url=registry_url, json_fail_invalid_schema=True)
    data = strict.serialize(topic, {"id": 1})
    client = SchemaRegistryClient({"url": registry_url})
    theirs = JSONDeserializer(None, schema_registry_client=client)
    assert theirs(data, of_value(topic)) == {"id": 1}
    with pytest.raises(SerializationException, match="does not fit"):
        strict.serialize(topic, {"id": "one"})
    broken = lax.serialize(topic, {"id": "one"})
    assert made(KafkaJsonSchemaDeserializer, url=registry_url).deserialize(topic, broken) == {"id": "one"}
    reader = made(KafkaJsonSchemaDeserializer, url=registry_url, json_fail_invalid_schema=True)
    with pytest.raises(SerializationException, match="does not fit"):
        reader.deserialize(topic, broken)
    by_title = {"value_subject_name_strategy": "RecordNameStrategy"}
    made(KafkaJsonSchemaSerializer, JSON_ORDER, url=registry_url, **by_title).serialize(topic, {"id": 1})
    assert SchemaRegistry(registry_url).latest("Order").version == 1


def test_protobuf_messages_and_confluents_serializer(registry_url: str, topic: str) -> None:
    client = SchemaRegistryClient({"url": registry_url})
    ours = made(KafkaProtobufSerializer, url=registry_url)
    price = Money(currency_code="EUR", units=5)
    data = ours.serialize(topic, price)
    theirs = ProtobufDeserializer(Money, {"use.deprecated.format": False})
    assert theirs(data, of_value(topic)) == price
    written = ProtobufSerializer(Money, client, {"use.deprecated.format": False})(price, of_value(topic))
    assert made(KafkaProtobufDeserializer, Money, url=registry_url).deserialize(topic, written) == price
    as_dict = made(KafkaProtobufDeserializer, url=registry_url).deserialize(topic, written)
    assert as_dict == {"currencyCode": "EUR", "units": "5", "nanos": 0}
    named = {"value_subject_name_strategy": "RecordNameStrategy"}
    made(KafkaProtobufSerializer, url=registry_url, **named).serialize(topic, PostalAddress(region_code="DE"))
    assert SchemaRegistry(registry_url).latest("google.type.PostalAddress").version == 1


def test_protobuf_dicts_are_written_by_the_text_of_a_schema(registry_url: str, topic: str) -> None:
    writer = made(KafkaProtobufSerializer, PROTO_ORDER, "Order", url=registry_url)
    data = writer.serialize(topic, {"id": "7"})
    assert made(KafkaProtobufDeserializer, url=registry_url).deserialize(topic, data) == {"id": "7"}
    with pytest.raises(SerializationException, match="does not fit"):
        writer.serialize(topic, {"no such field": 1})


def test_bytes_of_another_kind_are_refused_with_the_reason(registry_url: str, topic: str) -> None:
    reader = made(KafkaAvroDeserializer, url=registry_url)
    with pytest.raises(SerializationException, match="written without a registry"):
        reader.deserialize(topic, b"plain text")
    with pytest.raises(SerializationException, match="not in the registry"):
        reader.deserialize(topic, b"\x00\x00\x00\xff\xff...")
    data = made(KafkaProtobufSerializer, url=registry_url).serialize(topic, Duration(seconds=1))
    with pytest.raises(SerializationException, match="PROTOBUF, and KafkaAvroDeserializer reads AVRO"):
        reader.deserialize(topic, data)
    with pytest.raises(SerializationException, match="Could not serialize"):
        made(KafkaAvroSerializer, ORDER, url=registry_url).serialize(f"{topic}-2", {"id": "not a number"})


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigException, match=r"schema.registry.url is missing"):
        KafkaAvroSerializer(ORDER, settings={})
    with pytest.raises(ConfigException, match="not configured"):
        KafkaAvroSerializer(ORDER).serialize("t", VALUE)
    with pytest.raises(ConfigException, match="USER_INFO needs"):
        KafkaAvroSerializer(
            ORDER,
            settings={"schema.registry.url": "http://x", "basic.auth.credentials.source": "USER_INFO"},
        )
    serializer = KafkaAvroSerializer(ORDER, settings={"schema.registry.url": "http://me:secret@127.0.0.1:1"})
    assert serializer.settings.registry.urls == ("http://127.0.0.1:1",)
    with pytest.raises(SerializationException, match="no registry answers"):
        serializer.serialize("t", VALUE)
