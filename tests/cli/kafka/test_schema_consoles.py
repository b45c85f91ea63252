"""Confluent's console tools for Avro, JSON Schema and Protobuf, with our registry and its own client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.cli.kafka.schema_consoles import (
    avro_console_consumer,
    avro_console_producer,
    json_schema_console_consumer,
    json_schema_console_producer,
    protobuf_console_consumer,
    protobuf_console_producer,
)
from penstock.testing import Broker
from tests.cli.kafka.side_by_side import SideBySide
from tests.registry.processes import RegistryProcess

AVRO = '{"type":"record","name":"myrecord","fields":[{"name":"f1","type":"string"}]}'
JSON = '{"type":"object","properties":{"f1":{"type":"string"}},"required":["f1"]}'
PROTO = 'syntax = "proto3"; message MyRecord { string f1 = 1; int32 n = 2; }'


@pytest.fixture(scope="module")
def registry(command_broker: Broker) -> Iterator[str]:
    running = RegistryProcess(command_broker.bootstrap_servers).start()
    yield running.url
    running.stop()


@pytest.fixture
def pair(command_broker: Broker, capsys: Any, monkeypatch: Any) -> SideBySide:
    """Ours alone: Confluent's classes are not on Maven Central."""
    return SideBySide(command_broker.bootstrap_servers, None, capsys, monkeypatch)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("produce", "consume", "schema", "lines"),
    [
        (avro_console_producer, avro_console_consumer, AVRO, ['{"f1":"value1"}', '{"f1":"zwölf"}']),
        (json_schema_console_producer, json_schema_console_consumer, JSON, ['{"f1":"value1"}']),
        (protobuf_console_producer, protobuf_console_consumer, PROTO, ['{"f1":"value1","n":3}']),
    ],
)
def test_lines_become_values_with_a_schema_and_lines_again(
    pair: SideBySide, registry: str, produce: Any, consume: Any, schema: str, lines: list[str]
) -> None:
    topic = f"with-{produce.__qualname__}-{abs(hash(schema))}".replace("<", "").replace(">", "")
    words = [
        "--bootstrap-server",
        "SERVERS",
        "--topic",
        topic,
        "--property",
        f"schema.registry.url={registry}",
    ]
    fed = "\n".join(lines).encode() + b"\n"
    said = pair.ours(produce, *words, "--property", f"value.schema={schema}", stdin=fed)
    assert said.code == 0, said
    read = pair.ours(consume, *words, "--from-beginning", "--max-messages", str(len(lines)))
    shown = [line for line in read.out.splitlines() if not line.startswith("Option ")]
    assert [json.loads(line) for line in shown] == [json.loads(line) for line in lines], read


def test_the_broker_list_of_the_tutorials_keys_and_ids(pair: SideBySide, registry: str) -> None:
    key = '{"type":"int"}'
    line = ["--broker-list", "SERVERS", "--topic", "t1-a", "--property", f"schema.registry.url={registry}"]
    keyed = ["--property", "parse.key=true", "--property", "key.separator=|"]
    schemas = ["--property", f"key.schema={key}", "--property", f"value.schema={AVRO}"]
    assert pair.ours(avro_console_producer, *line, *keyed, *schemas, stdin=b'7|{"f1":"a"}\n').code == 0
    read = ["--bootstrap-server", "SERVERS", "--topic", "t1-a", "--from-beginning", "--max-messages", "1"]
    shown = ["--formatter-property", "print.key=true", "--formatter-property", "print.schema.ids=true"]
    where = ["--formatter-property", f"schema.registry.url={registry}"]
    said = pair.ours(avro_console_consumer, *read, *shown, *where)
    words = said.out.rstrip("\n").split("\t")
    assert (words[0], words[2]) == ("7", '{"f1":"a"}')
    assert words[1].isdecimal()
    assert words[3].isdecimal()


def test_confluents_client_reads_what_was_written(pair: SideBySide, registry: str) -> None:
    words = ["--bootstrap-server", "SERVERS", "--topic", "for-others", "--reader-property"]
    settings = [f"schema.registry.url={registry}", "--reader-property", f"value.schema={AVRO}"]
    assert pair.ours(avro_console_producer, *words, *settings, stdin=b'{"f1":"x"}\n').code == 0
    group = {"bootstrap.servers": pair.servers, "group.id": "g-others", "auto.offset.reset": "earliest"}
    consumer = Consumer(group)
    consumer.subscribe(["for-others"])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    decode = AvroDeserializer(SchemaRegistryClient({"url": registry}))
    assert decode(message.value(), SerializationContext("for-others", MessageField.VALUE)) == {"f1": "x"}


@pytest.mark.parametrize(
    ("properties", "line", "sentence"),
    [
        ([], b"{}\n", "Must provide one of value.schema"),
        (["value.schema={"], b"{}\n", "Error registering schema"),
        ([f"value.schema={AVRO}"], b'{"f1":7}\n', "Error serializing"),
        ([f"value.schema={AVRO}"], b"no json\n", "Error deserializing json"),
        (["value.schema.id=99999"], b"{}\n", "99999"),
        (["value.schema.file=/no/such"], b"{}\n", "No such file"),
    ],
)
def test_a_mistake_is_a_sentence(
    pair: SideBySide, registry: str, properties: list[str], line: bytes, sentence: str
) -> None:
    words = [
        "--bootstrap-server",
        "SERVERS",
        "--topic",
        "wrong",
        "--property",
        f"schema.registry.url={registry}",
    ]
    for each in properties:
        words += ["--property", each]
    said = pair.ours(avro_console_producer, *words, stdin=line)
    assert said.code == 1
    assert sentence in said.err
    assert "Traceback" not in said.err
