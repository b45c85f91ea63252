"""Values with schemas in a registry: Confluent's serialisers read ours, and we read theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.timestamp_pb2 import Timestamp

from penstock.kernels.serdes import SerdeError, from_bytes, to_bytes
from penstock.streams import (
    RegistryAvroSerde,
    RegistryJsonSerde,
    RegistryProtobufSerde,
    StreamsBuilder,
    StringSerde,
    TopologyTestDriver,
)
from penstock.testing import Broker
from tests.registry.processes import RegistryProcess

TRADE = json.dumps(
    {
        "type": "record",
        "name": "Trade",
        "fields": [{"name": "symbol", "type": "string"}, {"name": "ask", "type": "double"}],
    }
)
NEWER = json.dumps(
    {
        "type": "record",
        "name": "Trade",
        "fields": [
            {"name": "symbol", "type": "string"},
            {"name": "ask", "type": "double"},
            {"name": "size", "type": ["null", "int"], "default": None},
        ],
    }
)
MOMENT = (
    'syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }'
)
AAPL = {"symbol": "AAPL", "ask": 191.5}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Broker() as broker, RegistryProcess(broker.bootstrap_servers) as registry:
        yield registry.url


def test_confluents_avro_serialiser_and_ours_read_each_other(url: str) -> None:
    client, place = SchemaRegistryClient({"url": url}), SerializationContext("trades", MessageField.VALUE)
    serde = RegistryAvroSerde(url, TRADE)
    theirs = AvroSerializer(client, TRADE)(AAPL, place)
    assert theirs is not None
    assert serde.deserialize("trades", theirs) == AAPL
    assert serde.serialize("trades", AAPL) == theirs
    assert AvroDeserializer(client)(serde.serialize("trades", AAPL), place) == AAPL


def test_a_reader_sees_older_values_as_its_own_schema_has_them(url: str) -> None:
    old = RegistryAvroSerde(url, TRADE).serialize("evolving", AAPL)
    assert RegistryAvroSerde(url, NEWER).deserialize("evolving", old) == {**AAPL, "size": None}
    assert RegistryAvroSerde(url).deserialize("evolving", old) == AAPL


def test_json_and_protobuf_carry_their_schema_too(url: str) -> None:
    as_json = RegistryJsonSerde(url, '{"type": "object"}')
    assert as_json.deserialize("objects", as_json.serialize("objects", AAPL)) == AAPL
    as_protobuf = RegistryProtobufSerde(url, MOMENT, message=Timestamp)
    moment = Timestamp(seconds=7)
    assert as_protobuf.deserialize("moments", as_protobuf.serialize("moments", moment)) == moment
    subjects = SchemaRegistryClient({"url": url}).get_subjects()
    assert {"objects-value", "moments-value"} <= set(subjects)


def test_a_topology_reads_and_writes_with_schemas(url: str) -> None:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=RegistryAvroSerde(url, TRADE))
    builder.stream("asks").map_values(lambda trade: {**trade, "ask": trade["ask"] + 1}).to("raised")
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("asks", "AAPL", AAPL, timestamp=1)
        assert driver.read("raised")[0].value == {"symbol": "AAPL", "ask": 192.5}


def test_what_cannot_be_read_or_written_is_a_poison_pill(url: str) -> None:
    with pytest.raises(SerdeError, match="was it written without a registry"):
        from_bytes(RegistryAvroSerde(url), "trades", b"plain")
    with pytest.raises(SerdeError, match="a schema is needed to write"):
        to_bytes(RegistryAvroSerde(url), "trades", AAPL)
    with pytest.raises(SerdeError, match="nobody-value"):
        to_bytes(RegistryAvroSerde(url, TRADE, auto_register=False), "nobody", AAPL)
    with pytest.raises(ValueError, match="give message="):
        RegistryProtobufSerde(url, MOMENT)
