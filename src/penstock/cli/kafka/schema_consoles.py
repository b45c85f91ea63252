"""Confluent's `kafka-avro-console-producer`, its consumer, and the same for JSON Schema and Protobuf.

They are Kafka's console tools with another reader of lines and another formatter; all options are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from penstock.cli.kafka.console_consumer import console_consumer
from penstock.cli.kafka.console_producer import console_producer
from penstock.cli.kafka.starting import Body, script

_JAVA: Final = "io.confluent.kafka.formatter."


def _producing(reader: str) -> Body:
    def body(words: Sequence[str]) -> int:
        chosen = any(word.lstrip("-").startswith("line-reader") for word in words)
        return console_producer(words if chosen or not words else [*words, "--line-reader", _JAVA + reader])

    return body


def _consuming(formatter: str) -> Body:
    def body(words: Sequence[str]) -> int:
        chosen = "--formatter" in words
        return console_consumer(words if chosen or not words else [*words, "--formatter", _JAVA + formatter])

    return body


avro_console_producer: Final = _producing("AvroMessageReader")
avro_console_consumer: Final = _consuming("AvroMessageFormatter")
json_schema_console_producer: Final = _producing("json.JsonSchemaMessageReader")
json_schema_console_consumer: Final = _consuming("json.JsonSchemaMessageFormatter")
protobuf_console_producer: Final = _producing("protobuf.ProtobufMessageReader")
protobuf_console_consumer: Final = _consuming("protobuf.ProtobufMessageFormatter")

main_avro_producer: Final[Callable[[], NoReturn]] = script(avro_console_producer)
main_avro_consumer: Final[Callable[[], NoReturn]] = script(avro_console_consumer)
main_json_schema_producer: Final[Callable[[], NoReturn]] = script(json_schema_console_producer)
main_json_schema_consumer: Final[Callable[[], NoReturn]] = script(json_schema_console_consumer)
main_protobuf_producer: Final[Callable[[], NoReturn]] = script(protobuf_console_producer)
main_protobuf_consumer: Final[Callable[[], NoReturn]] = script(protobuf_console_consumer)
