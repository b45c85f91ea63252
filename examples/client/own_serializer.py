"""A serializer of one's own, and why Avro is better.

    python examples/client/own_serializer.py [SERVERS [REGISTRY]]

The first form is bytes that only this class understands. A new field means that every program that reads the
topic changes at once, and old records can no longer be read. The second form has its schema in a registry: a
reader with an older or newer schema still reads every record, and a change that would break one is refused.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from typing import Any

from penstock.client import (
    Consumer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    Producer,
    SerializationException,
)


@dataclass(frozen=True)
class Customer:
    id: int
    name: str


class CustomerSerializer:
    """Four bytes of the id, four bytes of the name's length, the name in UTF-8."""

    def serialize(self, topic: str, data: Customer) -> bytes:
        name = data.name.encode()
        return struct.pack(">ii", data.id, len(name)) + name


class CustomerDeserializer:
    def deserialize(self, topic: str, data: bytes) -> Customer:
        if len(data) < 8:
            raise SerializationException(f"{len(data)} bytes are no customer")
        number, length = struct.unpack_from(">ii", data)
        if len(data) != 8 + length:
            raise SerializationException(f"{len(data)} bytes are no customer with a name of {length}")
        return Customer(number, data[8:].decode())


SCHEMA = {
    "type": "record",
    "name": "Customer",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}],
}
NEWER_SCHEMA = {
    **SCHEMA,
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "name", "type": "string"},
        {"name": "email", "type": ["null", "string"], "default": None},
    ],
}


def by_hand(servers: str, topic: str, customer: Customer) -> list[Customer]:
    with Producer({"bootstrap.servers": servers, "value.serializer": CustomerSerializer}) as producer:
        producer.send(topic, customer).result(30)
    return list(read(servers, topic, {"value.deserializer": CustomerDeserializer}))


def with_avro(servers: str, registry: str, topic: str, customer: Customer) -> list[Any]:
    """Written with the first schema, read with the second."""
    settings = {"bootstrap.servers": servers, "schema.registry.url": registry}
    with Producer({**settings, "value.serializer": KafkaAvroSerializer(SCHEMA)}) as producer:
        producer.send(topic, customer).result(30)
    reader = KafkaAvroDeserializer(NEWER_SCHEMA)
    return list(read(servers, topic, {**settings, "value.deserializer": reader}))


def read(servers: str, topic: str, more: dict[str, Any]) -> list[Any]:
    settings = {
        "bootstrap.servers": servers,
        "group.id": f"{topic}-readers",
        "auto.offset.reset": "earliest",
        **more,
    }
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        for _ in range(60):
            if records := consumer.poll(1):
                return [record.value for record in records]
    return []


def main(servers: str, registry: str) -> None:
    customer = Customer(7, "Ann")
    print("by hand:", by_hand(servers, "customers-by-hand", customer))
    print("with Avro:", with_avro(servers, registry, "customers-avro", customer))


if __name__ == "__main__":
    arguments = [*sys.argv[1:], "127.0.0.1:9092", "http://127.0.0.1:8081"]
    main(arguments[0], arguments[1] if len(sys.argv) > 2 else "http://127.0.0.1:8081")
