"""Avro, JSON Schema and Protobuf through the proxy, judged by Confluent's own serialisers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.rest.proxies import Proxy, running_proxy, running_service
from tests.rest.registries import Schemas, running_registry

USER = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "shop",
        "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": ["null", "int"]}],
    }
)
PLACE = json.dumps(
    {
        "type": "object",
        "title": "Place",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
)
POINT = 'syntax = "proto3"; package shop; message Point { int32 x = 1; string label = 2; }'
CASES = [
    ("avro", USER, {"name": "Ann", "age": {"int": 30}}, b"\x06Ann\x02\x3c"),
    ("jsonschema", PLACE, {"city": "Bern"}, b'{"city":"Bern"}'),
    ("protobuf", POINT, {"x": 5, "label": "a"}, b"\x00\x08\x05\x12\x01a"),
]
JSON = "application/json"


@pytest.fixture(scope="module")
def registry() -> Iterator[Schemas]:
    with running_registry() as running:
        yield running


@pytest.fixture(scope="module")
def schema_proxy(bootstrap_servers: str, registry: Schemas) -> Iterator[Proxy]:
    with running_proxy(bootstrap_servers, schema_registry_url=registry.url) as running:
        yield running


def value_of(bootstrap_servers: str, topic: str, offset: int = 0) -> bytes:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "log"})
    consumer.assign([TopicPartition(topic, 0, offset)])
    message = consumer.poll(10)
    consumer.close()
    assert message is not None
    value = message.value()
    assert isinstance(value, bytes)
    return value


@pytest.mark.parametrize(("form", "schema", "value", "payload"), CASES)
def test_a_value_goes_in_by_its_schema_and_comes_out_again(
    schema_proxy: Proxy,
    new_topic: Callable[..., str],
    group: str,
    bootstrap_servers: str,
    form: str,
    schema: str,
    value: Any,
    payload: bytes,
) -> None:
    topic = new_topic()
    first = schema_proxy.produce(topic, form, {"value_schema": schema, "records": [{"value": value}]})
    assert first.status_code == 200, first.text
    schema_id = first.json()["value_schema_id"]
    assert value_of(bootstrap_servers, topic) == b"\x00" + schema_id.to_bytes(4, "big") + payload
    again = {"value_schema_id": schema_id, "records": [{"value": value}, {"value": None}]}
    assert schema_proxy.produce(topic, form, again).json()["value_schema_id"] == schema_id
    instance = schema_proxy.consumer(group, "a", form)
    wanted = {"partitions": [{"topic": topic, "partition": 0}]}
    schema_proxy.send("POST", f"{instance}/assignments", wanted)
    found = [record["value"] for record in schema_proxy.read_until(instance, 3, form)]
    assert found == [value, value, None]
    schema_proxy.client.delete(instance)


def test_confluents_own_deserialisers_read_what_was_produced(
    schema_proxy: Proxy, registry: Schemas, new_topic: Callable[..., str], bootstrap_servers: str
) -> None:
    topic = new_topic()
    client = SchemaRegistryClient({"url": registry.url})
    context = SerializationContext(topic, MessageField.VALUE)
    for form, schema, value, _ in CASES[:2]:
        body = {"value_schema": schema, "records": [{"value": value}]}
        assert schema_proxy.produce(topic, form, body).status_code == 200
    avro = AvroDeserializer(client)
    assert avro(value_of(bootstrap_servers, topic, 0), context) == {"name": "Ann", "age": 30}
    plain = JSONDeserializer(PLACE)
    assert plain(value_of(bootstrap_servers, topic, 1), context) == {"city": "Bern"}


def test_an_instance_reads_what_confluents_serialiser_wrote(
    schema_proxy: Proxy,
    registry: Schemas,
    new_topic: Callable[..., str],
    group: str,
    bootstrap_servers: str,
) -> None:
    topic = new_topic()
    registry.add(f"{topic}-value", {"schema": USER})
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    serialise = AvroSerializer(SchemaRegistryClient({"url": registry.url}), conf=settings)
    context = SerializationContext(topic, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    producer.produce(topic, serialise({"name": "Bo", "age": None}, context))
    assert producer.flush(10) == 0
    instance = schema_proxy.consumer(group, "a", "avro")
    wanted = {"partitions": [{"topic": topic, "partition": 0}]}
    schema_proxy.send("POST", f"{instance}/assignments", wanted)
    (record,) = schema_proxy.read_until(instance, 1, "avro")
    assert record["value"] == {"name": "Bo", "age": None}
    schema_proxy.client.delete(instance)


@pytest.mark.parametrize(
    ("more", "subject"),
    [
        ({"schema_id": True}, "{topic}-value"),
        ({"schema_version": 1}, "{topic}-value"),
        ({}, "{topic}-value"),
        ({"type": "AVRO", "schema": USER}, "{topic}-value"),
        ({"type": "AVRO", "schema": USER, "subject": "mine"}, "mine"),
        ({"type": "AVRO", "schema": USER, "subject_name_strategy": "RECORD_NAME"}, "shop.User"),
        ({"schema_id": True, "subject_name_strategy": "TOPIC_RECORD_NAME"}, "{topic}-shop.User"),
    ],
)
def test_version_3_finds_the_schema_in_each_of_its_ways(
    schema_proxy: Proxy,
    registry: Schemas,
    new_topic: Callable[..., str],
    more: dict[str, Any],
    subject: str,
) -> None:
    topic = new_topic()
    schema_id = registry.add(f"{topic}-value", {"schema": USER})
    registry.add(f"{topic}-shop.User", {"schema": USER})
    if more.get("schema_id"):
        more = {**more, "schema_id": schema_id}
    record = {"value": {**more, "data": {"name": "Ann", "age": None}}}
    url = f"{schema_proxy.cluster()}/topics/{topic}/records"
    (line,) = schema_proxy.send("POST", url, record, JSON).text.splitlines()
    answer = json.loads(line)
    assert answer["error_code"] == 200, answer
    assert answer["value"] == {
        "type": "AVRO",
        "subject": subject.format(topic=topic),
        "schema_id": schema_id,
        "schema_version": 1,
        "size": 5 + 5,
    }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"value_schema": USER, "records": [{"value": {"name": 1, "age": None}}]}, 400, 400),
        ({"value_schema": "{", "records": [{"value": 1}]}, 422, 42205),
        ({"value_schema_id": 4711, "records": [{"value": 1}]}, 422, 42207),
        ({"records": [{"value": 1}]}, 422, 42202),
        ({"value_schema": USER, "records": [{"key": 1, "value": {"name": "A", "age": None}}]}, 422, 42201),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    schema_proxy: Proxy, new_topic: Callable[..., str], body: dict[str, Any], status: int, code: int
) -> None:
    topic = new_topic()
    answer = schema_proxy.produce(topic, "avro", body)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert schema_proxy.client.get(f"/topics/{topic}/partitions/0/offsets").json()["end_offset"] == 0


def test_a_registry_that_does_not_answer_is_named(
    bootstrap_servers: str, new_topic: Callable[..., str]
) -> None:
    with running_proxy(bootstrap_servers, schema_registry_url="http://127.0.0.1:1") as alone:
        body = {"value_schema": USER, "records": [{"value": {"name": "A", "age": None}}]}
        answer = alone.produce(new_topic(), "avro", body)
    assert (answer.status_code, answer.json()["error_code"]) == (408, 40801)


def test_the_proxy_and_our_own_registry_agree(bootstrap_servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    with (
        running_service("registry", bootstrap_servers) as registry,
        running_proxy(bootstrap_servers, schema_registry_url=f"http://{registry.address}") as own,
    ):
        for at, (form, schema, value, payload) in enumerate(CASES):
            body = {
                "key_schema": schema,
                "value_schema": schema,
                "records": [{"key": value, "value": value}],
            }
            answer = own.produce(f"{topic}-{form}", form, body)
            assert answer.status_code == 200, answer.text
            schema_id = answer.json()["value_schema_id"]
            assert answer.json()["key_schema_id"] == schema_id == at + 1
            header = b"\x00" + schema_id.to_bytes(4, "big")
            assert value_of(bootstrap_servers, f"{topic}-{form}") == header + payload
        incompatible = {"value_schema": '"long"', "records": [{"value": 1}]}
        refused = own.produce(f"{topic}-avro", "avro", incompatible)
        assert (refused.status_code, refused.json()["error_code"]) == (422, 42207)
        assert "ncompatible" in refused.json()["message"]


def test_a_schema_without_a_name_cannot_name_its_subject(
    schema_proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    cluster = schema_proxy.client.get("/v3/clusters").json()["data"][0]["cluster_id"]
    value = {
        "type": "JSONSCHEMA",
        "schema": '{"type": "object"}',
        "subject_name_strategy": "RECORD_NAME",
        "data": {},
    }
    answer = schema_proxy.client.post(
        f"/v3/clusters/{cluster}/topics/{topic}/records", json={"value": value}
    ).json()
    assert (answer["error_code"], "needs a schema with a name" in answer["message"]) == (400, True)
