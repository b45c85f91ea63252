"""Rules of data contracts: run by our serializers, told by a real registry, judged by Confluent's client."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import JsonataExecutor
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.client import (
    Consumer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaJsonSchemaDeserializer,
    KafkaJsonSchemaSerializer,
    KafkaProtobufDeserializer,
    KafkaProtobufSerializer,
    Producer,
)
from penstock.client.api.exceptions import ConfigException, SerializationException
from penstock.client.serdes.rules.model import Mode, contract_of
from penstock.client.serdes.rules.running import RuleContext
from tests.client.api.conftest import poll_until

USER = {
    "type": "record",
    "name": "User",
    "namespace": "shop",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "card", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
        {"name": "photo", "type": ["null", "bytes"], "default": None, "confluent:tags": ["PII"]},
        {"name": "age", "type": "int", "default": 0},
        {
            "name": "homes",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Home",
                    "fields": [{"name": "street", "type": "string", "confluent:tags": ["PII"]}],
                },
            },
            "default": [],
        },
    ],
}
JSON_USER = {
    "title": "User",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "card": {"type": ["string", "null"], "confluent:tags": ["PII"]},
        "home": {"$ref": "#/$defs/home"},
    },
    "$defs": {"home": {"properties": {"street": {"type": "string", "confluent:tags": ["PII"]}}}},
}
PROTO_USER = (
    'syntax = "proto3"; package shop; import "confluent/meta.proto"; '
    "message User { string name = 1; "
    'string card = 2 [(confluent.field_meta) = {tags: ["PII"]}]; int32 age = 3; '
    "repeated Home homes = 4; map<string, Home> by_name = 5; "
    'message Home { string street = 1 [(confluent.field_meta).tags = "PII"]; } }'
)


def rule(kind: str, type: str, mode: str, expr: str = "", **more: Any) -> dict[str, Any]:  # noqa: A002
    made = {"name": more.pop("name", "r"), "kind": kind, "type": type, "mode": mode, "expr": expr, **more}
    return {name: value for name, value in made.items() if value != ""}


def register(url: str, subject: str, schema: Any, kind: str = "AVRO", **more: Any) -> int:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    answer = httpx.post(
        f"{url}/subjects/{subject}/versions", json={"schema": text, "schemaType": kind, **more}
    )
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def made(serde: Any, url: str, **settings: Any) -> Any:
    latest = {"auto.register.schemas": False, "use.latest.version": True, "schema.registry.url": url}
    serde.configure({**latest, **settings}, False)
    return serde


def plain(serde: Any, url: str, **settings: Any) -> Any:
    serde.configure({"schema.registry.url": url, **settings}, False)
    return serde


def domain(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"ruleSet": {"domainRules": list(rules)}}


def test_a_condition_refuses_what_breaks_it(registry_url: str, topic: str) -> None:
    rules = domain(
        rule("CONDITION", "CEL", "WRITE", "message.age >= 18 && size(message.name) > 0", doc="adults only")
    )
    register(registry_url, f"{topic}-value", USER, **rules)
    serializer = made(KafkaAvroSerializer(), registry_url)
    assert serializer.serialize(topic, {"name": "Ann", "age": 18})
    with pytest.raises(SerializationException, match="adults only"):
        serializer.serialize(topic, {"name": "Bo", "age": 3})


def test_a_serializer_with_a_schema_of_its_own_runs_the_rules_that_the_registry_has_for_it(
    registry_url: str, topic: str
) -> None:
    httpx.put(
        f"{registry_url}/config/{topic}-value",
        json={"overrideRuleSet": {"domainRules": [rule("CONDITION", "CEL", "WRITE", "message.age > 1")]}},
    )
    serializer = plain(KafkaAvroSerializer(USER), registry_url)
    with pytest.raises(SerializationException, match=r"message\.age > 1"):
        serializer.serialize(topic, {"name": "Ann", "age": 1})


def test_fields_are_transformed_by_tag_guard_and_name(registry_url: str, topic: str) -> None:
    masked = rule("TRANSFORM", "CEL_FIELD", "WRITE", "typeName == 'STRING' ; value + '!'", tags=["PII"])
    named = rule("TRANSFORM", "CEL_FIELD", "WRITE", "name == 'name' ; 'Dr. ' + value", name="n")
    register(registry_url, f"{topic}-value", USER, **domain(masked, named))
    value = {"name": "Ann", "card": "42", "photo": b"x", "age": 20, "homes": [{"street": "A"}]}
    data = made(KafkaAvroSerializer(), registry_url).serialize(topic, value)
    assert plain(KafkaAvroDeserializer(), registry_url).deserialize(topic, data) == {
        "name": "Dr. Ann",
        "card": "42!",
        "photo": b"x",
        "age": 20,
        "homes": [{"street": "A!"}],
    }
    assert value["card"] == "42", "the caller's value stays"


def test_tags_of_the_metadata_name_fields_with_wildcards(registry_url: str, topic: str) -> None:
    register(
        registry_url,
        f"{topic}-value",
        USER,
        metadata={"tags": {"shop.User.n*": ["SHOUT"], "**.street": ["SHOUT"]}},
        **domain(rule("TRANSFORM", "CEL_FIELD", "WRITEREAD", "value + '!'", tags=["SHOUT"])),
    )
    value = {"name": "Ann", "card": None, "photo": b"", "age": 1, "homes": [{"street": "A"}]}
    data = made(KafkaAvroSerializer(), registry_url).serialize(topic, value)
    read = plain(KafkaAvroDeserializer(), registry_url).deserialize(topic, data)
    assert (read["name"], read["homes"]) == ("Ann!!", [{"street": "A!!"}])


def test_json_and_protobuf_fields_are_transformed_too(registry_url: str, topic: str) -> None:
    rules = domain(rule("TRANSFORM", "CEL_FIELD", "WRITE", "value + '!'", tags=["PII"]))
    register(registry_url, f"{topic}-value", JSON_USER, "JSON", **rules)
    value = {"name": "Ann", "card": "42", "home": {"street": "A"}}
    data = made(KafkaJsonSchemaSerializer(), registry_url).serialize(topic, value)
    read = plain(KafkaJsonSchemaDeserializer(), registry_url).deserialize(topic, data)
    assert read == {"name": "Ann", "card": "42!", "home": {"street": "A!"}}

    register(registry_url, f"{topic}-p-value", PROTO_USER, "PROTOBUF", **rules)
    homes = {"homes": [{"street": "A"}, {"street": "B"}], "byName": {"x": {"street": "C"}}}
    data = made(KafkaProtobufSerializer(), registry_url).serialize(f"{topic}-p", {"card": "42", **homes})
    read = plain(KafkaProtobufDeserializer(), registry_url).deserialize(f"{topic}-p", data)
    assert (read["card"], read["name"]) == ("42!", "")
    assert read["homes"] == [{"street": "A!"}, {"street": "B!"}]
    assert read["byName"] == {"x": {"street": "C!"}}


def test_a_whole_message_is_transformed(registry_url: str, topic: str) -> None:
    whole = "{'name': message.name + '!', 'age': message.age + 1, 'homes': message.homes}"
    rules = domain(rule("TRANSFORM", "CEL", "WRITE", whole))
    register(registry_url, f"{topic}-value", USER, **rules)
    data = made(KafkaAvroSerializer(), registry_url).serialize(topic, {"name": "A", "age": 1, "homes": []})
    assert plain(KafkaAvroDeserializer(), registry_url).deserialize(topic, data)["age"] == 2
    register(registry_url, f"{topic}-p-value", PROTO_USER, "PROTOBUF", **rules)
    serializer = made(KafkaProtobufSerializer(), registry_url)
    data = serializer.serialize(f"{topic}-p", {"name": "A", "age": 1, "homes": [{"street": "S"}]})
    read = plain(KafkaProtobufDeserializer(), registry_url).deserialize(f"{topic}-p", data)
    assert (read["name"], read["age"], read["homes"]) == ("A!", 2, [{"street": "S"}])


def test_times_and_functions_are_known_to_expressions(registry_url: str, topic: str) -> None:
    schema = {
        "type": "record",
        "name": "E",
        "fields": [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "mail", "type": "string"},
        ],
    }
    register(
        registry_url,
        f"{topic}-value",
        schema,
        **domain(rule("CONDITION", "CEL", "WRITE", "message.at < now && message.mail.isEmail()")),
    )
    serializer = made(KafkaAvroSerializer(), registry_url)
    serializer.serialize(topic, {"at": datetime(2020, 1, 1, tzinfo=UTC), "mail": "ann@example.com"})
    with pytest.raises(SerializationException):
        serializer.serialize(topic, {"at": datetime(2020, 1, 1, tzinfo=UTC), "mail": "ann"})
    with pytest.raises(SerializationException):
        serializer.serialize(topic, {"at": datetime(2220, 1, 1, tzinfo=UTC), "mail": "ann@example.com"})


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"cards": [base64.b64encode(bytes(32)).decode()]}))
    return path


ENCRYPTED = domain(
    rule(
        "TRANSFORM", "ENCRYPT", "WRITEREAD", tags=["PII"],
        params={"encrypt.kek.name": "cards", "encrypt.kms.type": "local-kms"}, onFailure="ERROR,NONE",
    )
)  # fmt: skip


def test_tagged_fields_are_encrypted_and_read_with_the_key_file_only(
    registry_url: str, topic: str, key_file: Path
) -> None:
    register(registry_url, f"{topic}-value", USER, **ENCRYPTED)
    keys = {"rule.executors._default_.param.key.file": str(key_file)}
    value = {"name": "Ann", "card": "4242", "photo": b"\0\1", "age": 1, "homes": [{"street": "A"}]}
    serializer = made(KafkaAvroSerializer(), registry_url, **keys)
    data = serializer.serialize(topic, value)
    assert b"4242" not in data
    assert data != serializer.serialize(topic, value), "each time with a nonce of its own"
    assert plain(KafkaAvroDeserializer(), registry_url, **keys).deserialize(topic, data) == value
    seen = plain(KafkaAvroDeserializer(), registry_url).deserialize(topic, data)  # onFailure of reads: NONE
    assert seen["name"] == "Ann"
    assert seen["card"] not in ("4242", None)
    with pytest.raises(SerializationException, match="no key file"):
        made(KafkaAvroSerializer(), registry_url).serialize(topic, value)

    newer = base64.b64encode(os.urandom(32)).decode()
    key_file.write_text(json.dumps({"cards": [base64.b64encode(bytes(32)).decode(), newer]}))
    os.utime(key_file, (1, 1))
    reader = plain(KafkaAvroDeserializer(), registry_url, **keys)
    assert reader.deserialize(topic, serializer.serialize(topic, value)) == value
    assert reader.deserialize(topic, data) == value, "what an older key wrote is still read"


def test_whole_values_are_encrypted_and_a_changed_byte_is_noticed(
    registry_url: str, topic: str, key_file: Path
) -> None:
    encoding = rule(
        "TRANSFORM", "ENCRYPT_PAYLOAD", "WRITEREAD",
        params={"encrypt.kek.name": "cards", "encrypt.dek.algorithm": "AES256_SIV"},
    )  # fmt: skip
    register(registry_url, f"{topic}-value", JSON_USER, "JSON", ruleSet={"encodingRules": [encoding]})
    keys = {"rule.executors._default_.param.key.file": str(key_file)}
    serializer = made(KafkaJsonSchemaSerializer(), registry_url, **keys)
    data = serializer.serialize(topic, {"name": "Ann"})
    assert b"Ann" not in data
    assert data == serializer.serialize(topic, {"name": "Ann"}), "SIV is the same each time"
    reader = plain(KafkaJsonSchemaDeserializer(), registry_url, **keys)
    assert reader.deserialize(topic, data) == {"name": "Ann"}
    with pytest.raises(SerializationException, match="changed"):
        reader.deserialize(topic, data[:-1] + bytes([data[-1] ^ 1]))


def test_a_file_that_is_no_key_file_says_so(registry_url: str, topic: str, tmp_path: Path) -> None:
    register(registry_url, f"{topic}-value", USER, **ENCRYPTED)
    path = tmp_path / "keys.json"
    path.write_text('{"cards": "c2hvcnQ="}')
    keys = {"rule.executors._default_.param.key.file": str(path)}
    with pytest.raises(SerializationException, match="32 bytes"):
        made(KafkaAvroSerializer(), registry_url, **keys).serialize(topic, {"name": "A", "card": "x"})


V1 = {"type": "record", "name": "T", "fields": [{"name": "size", "type": "int"}]}
V2 = {"type": "record", "name": "T", "fields": [{"name": "height", "type": "int"}]}
UP = "$merge([$sift($, function($v, $k) {$k != 'size'}), {'height': $.'size'}])"
DOWN = "$merge([$sift($, function($v, $k) {$k != 'height'}), {'size': $.'height'}])"


def test_migrations_lead_old_readers_forward_and_new_ones_back(registry_url: str, topic: str) -> None:
    httpx.put(
        f"{registry_url}/config/{topic}-value", json={"compatibility": "FULL", "compatibilityGroup": "major"}
    )
    subject = f"{topic}-value"
    register(registry_url, subject, V1, metadata={"properties": {"major": "1"}})
    register(
        registry_url,
        subject,
        V2,
        metadata={"properties": {"major": "2"}},
        ruleSet={
            "migrationRules": [
                rule("TRANSFORM", "JSONATA", "UPGRADE", UP),
                rule("TRANSFORM", "JSONATA", "DOWNGRADE", DOWN, name="d"),
            ]
        },
    )
    settings = {"use.latest.version": False, "use.latest.with.metadata": "major=1"}
    old = made(KafkaAvroSerializer(), registry_url, **settings).serialize(topic, {"size": 3})
    new = made(KafkaAvroSerializer(), registry_url).serialize(topic, {"height": 4})
    forward = made(KafkaAvroDeserializer(), registry_url)
    assert forward.deserialize(topic, old) == {"height": 3}
    assert forward.deserialize(topic, new) == {"height": 4}
    back = made(KafkaAvroDeserializer(), registry_url, **settings)
    assert back.deserialize(topic, new) == {"size": 4}
    assert back.deserialize(topic, old) == {"size": 3}

    JsonataExecutor.register()
    with SchemaRegistryClient({"url": registry_url}) as client:
        theirs = AvroDeserializer(client, conf={"use.latest.version": True})
        context = SerializationContext(topic, MessageField.VALUE)
        assert theirs(old, context) == {"height": 3}
        theirs = AvroDeserializer(
            client, conf={"use.latest.version": False, "use.latest.with.metadata": {"major": "1"}}
        )
        assert theirs(new, context) == {"size": 4}


def test_a_broken_record_goes_to_the_dead_letter_topic(servers: str, registry_url: str, topic: str) -> None:
    rules = domain(
        rule(
            "CONDITION", "CEL", "WRITE", "message.age > 1", onFailure="DLQ",
            params={"dlq.topic": f"{topic}-dead"}, name="grown",
        )
    )  # fmt: skip
    register(registry_url, f"{topic}-value", USER, **rules)
    settings = {
        "bootstrap.servers": servers,
        "schema.registry.url": registry_url,
        "auto.register.schemas": False,
        "use.latest.version": True,
        "value.serializer": KafkaAvroSerializer(),
    }
    with Producer(settings) as producer:
        producer.send(topic, {"name": "Ann", "age": 2}).result(20)
        with pytest.raises(SerializationException, match="grown"):
            producer.send(topic, {"name": "Bo", "age": 1})
    reading = {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    with Consumer(reading) as consumer:
        consumer.subscribe([f"{topic}-dead"])
        (record,) = poll_until(consumer, 1)
    assert json.loads(record.value)["name"] == "Bo"
    headers = dict(record.headers)
    assert headers["__rule.name"] == b"grown"
    assert headers["__rule.topic"] == topic.encode()
    assert b"message.age > 1" in headers["__rule.exception"]


class Shout:
    type = "SHOUT"

    def __init__(self) -> None:
        self.ending = ""

    def configure(self, settings: dict[str, Any]) -> None:
        self.ending = settings["ending"]

    def transform(self, context: RuleContext, value: Any) -> Any:
        return {**value, "name": value["name"].upper() + self.ending}


def test_rules_of_the_users_own(registry_url: str, topic: str) -> None:
    register(registry_url, f"{topic}-value", USER, **domain(rule("TRANSFORM", "SHOUT", "READ")))
    settings = {
        "rule.executors": "shout",
        "rule.executors.shout.class": Shout,
        "rule.executors.SHOUT.param.ending": "!",
    }
    data = made(KafkaAvroSerializer(), registry_url).serialize(topic, {"name": "Ann"})
    read = plain(KafkaAvroDeserializer(), registry_url, **settings).deserialize(topic, data)
    assert read["name"] == "ANN!"
    with pytest.raises(SerializationException, match="nothing that runs rules of type SHOUT"):
        plain(KafkaAvroDeserializer(), registry_url).deserialize(topic, data)
    with pytest.raises(ConfigException, match=r"rule\.executors\.x\.class"):
        plain(KafkaAvroDeserializer(), registry_url, **{"rule.executors": "x"})


def test_actions_order_and_shadows_of_rules() -> None:
    twice = {"kind": "TRANSFORM", "type": "ENCRYPT", "mode": "WRITEREAD", "tags": ["PII"]}
    off = {"name": "off", "disabled": True}
    found = contract_of(None, {"domainRules": [{"name": "a", **twice}, {"name": "b", **twice}, off]})
    first, second = found.ordered(Mode.WRITE, "domainRules")
    assert [each.name for each in found.ordered(Mode.READ, "domainRules")] == ["b", "a"]
    assert second.is_shadowed_by(first)
    assert first.action(Mode.READ, failed=True) == "ERROR"
    both = contract_of(None, {"domainRules": [{**twice, "onFailure": "DLQ,NONE"}]}).rules["domainRules"][0]
    assert [both.action(mode, failed=True) for mode in (Mode.WRITE, Mode.READ)] == ["DLQ", "NONE"]
