"""Confluent's own Python client, unchanged: serialisers of all formats, and the bytes that they write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from penstock.testing import Broker
from tests.registry.processes import RegistryProcess

USER = """{"type": "record", "name": "User", "namespace": "example", "fields": [
    {"name": "name", "type": "string"}, {"name": "age", "type": ["null", "int"], "default": null}]}"""
PERSON = """{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Person", "type": "object",
    "properties": {"name": {"type": "string"}}, "required": ["name"]}"""


@pytest.fixture
def client(registry: RegistryProcess) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


def value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def through_kafka(broker: Broker, topic: str, data: bytes) -> bytes:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, data)
    assert producer.flush(10) == 0
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": topic,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        message = consumer.poll(15)
        assert message is not None
        assert message.error() is None
        return bytes(message.value())
    finally:
        consumer.close()


def test_avro_goes_through_kafka_and_comes_back(
    broker: Broker, client: SchemaRegistryClient, subject: str
) -> None:
    data = AvroSerializer(client, USER)({"name": "Ada", "age": 36}, value_of(subject))
    found = client.get_latest_version(f"{subject}-value")
    assert data == b"\x00" + found.schema_id.to_bytes(4, "big") + b"\x06Ada\x02H"
    received = through_kafka(broker, subject, data)
    assert AvroDeserializer(client)(received, value_of(subject)) == {"name": "Ada", "age": 36}


def test_json_is_checked_and_comes_back(client: SchemaRegistryClient, subject: str) -> None:
    serialise = JSONSerializer(PERSON, client)
    data = serialise({"name": "Ada"}, value_of(subject))
    assert data[:1] == b"\x00"
    assert data[5:] == b'{"name":"Ada"}'
    assert JSONDeserializer(PERSON)(data, value_of(subject)) == {"name": "Ada"}
    with pytest.raises(Exception, match="name"):
        serialise({}, value_of(subject))


def person_class(topic: str) -> Any:
    """A message of a file that imports Google's timestamp, with a message within."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{topic}.proto", package="example", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Other")
    person = file.message_type.add(name="Person")
    field = descriptor_pb2.FieldDescriptorProto
    person.field.add(name="name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    person.field.add(
        name="born", number=2, type=field.TYPE_MESSAGE, label=1, type_name=".google.protobuf.Timestamp"
    )
    pool = descriptor_pool.DescriptorPool()
    timestamp = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(timestamp)
    pool.Add(timestamp)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("example.Person"))


def test_protobuf_registers_its_imports_and_comes_back(client: SchemaRegistryClient, subject: str) -> None:
    person = person_class(subject)
    settings = {"use.deprecated.format": False}
    data = ProtobufSerializer(person, client, settings)(person(name="Ada"), value_of(subject))
    assert data[5:] == b"\x02\x02\x0a\x03Ada"
    received = ProtobufDeserializer(person, settings)(data, value_of(subject))
    assert received.name == "Ada"
    text = client.get_latest_version(f"{subject}-value").schema.schema_str
    assert "message Person {" in text


def test_a_schema_that_is_not_registered_is_refused_when_the_client_may_not_register(
    client: SchemaRegistryClient, subject: str
) -> None:
    serialise = AvroSerializer(client, USER, conf={"auto.register.schemas": False})
    with pytest.raises(SchemaRegistryError) as refused:
        serialise({"name": "Ada", "age": None}, value_of(subject))
    assert refused.value.error_code == 40401
    schema_id = client.register_schema(f"{subject}-value", Schema(USER, "AVRO"))
    assert serialise({"name": "Ada", "age": None}, value_of(subject))[1:5] == schema_id.to_bytes(4, "big")


def test_the_latest_version_can_be_used_instead_of_the_clients_own(
    client: SchemaRegistryClient, subject: str
) -> None:
    client.register_schema(f"{subject}-value", Schema(USER, "AVRO"))
    latest = USER.replace('"default": null}', '"default": null}, {"name": "x", "type": "int", "default": 7}')
    schema_id = client.register_schema(f"{subject}-value", Schema(latest, "AVRO"))
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    data = AvroSerializer(client, USER, conf=conf)({"name": "Ada"}, value_of(subject))
    assert data == b"\x00" + schema_id.to_bytes(4, "big") + b"\x06Ada\x00\x0e"


def test_references_are_resolved_by_the_client(client: SchemaRegistryClient, subject: str) -> None:
    address = '{"type": "record", "name": "a.Address", "fields": [{"name": "city", "type": "string"}]}'
    client.register_schema(f"{subject}-address", Schema(address, "AVRO"))
    person = '{"type": "record", "name": "P", "fields": [{"name": "home", "type": "a.Address"}]}'
    reference = SchemaReference("a.Address", f"{subject}-address", 1)
    schema = Schema(person, "AVRO", [reference])
    client.register_schema(f"{subject}-value", schema)
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    data = AvroSerializer(client, conf=conf)({"home": {"city": "Rome"}}, value_of(subject))
    assert AvroDeserializer(client)(data, value_of(subject)) == {"home": {"city": "Rome"}}


def test_levels_versions_and_deletion_work_through_the_client(
    client: SchemaRegistryClient, subject: str
) -> None:
    first = client.register_schema(subject, Schema('"int"', "AVRO"))
    assert client.register_schema(subject, Schema('{"type": "int"}', "AVRO")) == first
    assert not client.test_compatibility(subject, Schema('"string"', "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema('"string"', "AVRO"))
    assert refused.value.http_status_code == 409
    client.set_compatibility(subject, "NONE")
    assert client.get_compatibility(subject) == "NONE"
    second = client.register_schema(subject, Schema('"string"', "AVRO"))
    assert client.get_versions(subject) == [1, 2]
    assert client.get_schema(second).schema_str == '"string"'
    assert client.delete_version(subject, 1) == 1
    assert client.delete_subject(subject) == [2]
    assert client.delete_subject(subject, permanent=True) == [1, 2]
    assert subject not in client.get_subjects()
