"""`kafka-console-producer`: every line of standard input becomes a record."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from penstock.cli.kafka.line_reader import CLASS_NAMES, LineReader
from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.properties import check_addresses, key_values, load_properties, one_of
from penstock.cli.kafka.starting import script

READER: Final = CLASS_NAMES[0]
MERGED: Final = {
    "timeout": "linger.ms",
    "request-required-acks": "acks",
    "request-timeout-ms": "request.timeout.ms",
    "message-send-max-retries": "retries",
    "retry-backoff-ms": "retry.backoff.ms",
    "socket-buffer-size": "send.buffer.bytes",
    "max-memory-bytes": "buffer.memory",
    "batch-size": "batch.size",
    "max-partition-memory-bytes": "batch.size",
    "metadata-expiry-ms": "metadata.max.age.ms",
    "max-block-ms": "max.block.ms",
}
"""The setting of the producer for each option that has one."""


def console_producer(words: Sequence[str]) -> int:
    given = _parser().parse_or_help(words)
    given.require("topic")
    check_addresses(given, "bootstrap-server")
    reader = _reader(given)
    settings = _settings(given)
    from penstock.client import Producer
    from penstock.client.api.exceptions import KafkaException
    from penstock.client.api.serializers import BytesSerializer

    try:
        with Producer(settings, BytesSerializer(), BytesSerializer()) as producer:
            for line in reader.read(_lines()):
                future = producer.send(
                    given.value("topic"),
                    line.value,
                    line.key,
                    headers=line.headers,
                    callback=None if given.has("sync") else _complain,
                )
                if given.has("sync"):
                    future.result()
    except KafkaException as error:
        raise CommandFailed(str(error)) from error
    return 0


def _complain(metadata: Any, error: Any) -> None:
    """A record that was not taken; the command goes on with the next, as Kafka's does."""
    if error is not None:
        print(f"ERROR Error when sending message: {error}", file=sys.stderr)


def _lines() -> Iterator[str]:
    prompts = sys.stdin.isatty() and sys.stdout.isatty()
    text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape", newline=None)
    while True:
        if prompts:
            print(">", end="", flush=True)
        line = text.readline()
        if not line:
            return
        yield line.removesuffix("\n")


def _reader(given: Given) -> LineReader:
    name = given.value("line-reader")
    properties = _reader_properties(given)
    if name in CLASS_NAMES:
        return LineReader(properties)
    if name.startswith("io.confluent."):
        from penstock.cli.kafka.schema_lines import READERS, SchemaLineReader

        if name in READERS:
            return SchemaLineReader(properties, READERS[name], given.value("topic"))
    raise CommandFailed(f"{name} is a class of Java, which cannot run here; lines are read by {READER}")


def _reader_properties(given: Given) -> dict[str, str]:
    name = one_of(given, "reader-property", "property", warning="Warning:")
    return load_properties(given.value("reader-config")) | key_values(given.values(name))


def _settings(given: Given) -> dict[str, Any]:
    config = one_of(given, "command-config", "producer.config", warning="Warning:")
    pairs = one_of(given, "command-property", "producer-property", warning="Warning:")
    settings: dict[str, Any] = load_properties(given.value(config)) | key_values(given.values(pairs))
    settings["bootstrap.servers"] = given.value("bootstrap-server")
    settings["compression.type"] = given.value("compression-codec") or "none"
    settings.setdefault("client.id", "console-producer")
    for option, name in MERGED.items():
        if given.has(option) or name not in settings:
            settings[name] = given.value(option)
    settings.pop("key.serializer", None)
    settings.pop("value.serializer", None)
    return settings


def _parser() -> Parser:
    options = Parser("This tool helps to read data from standard input and publish it to Kafka.")
    options.takes("topic", what="topic", text="REQUIRED: The topic name to produce messages to.")
    options.takes(
        "bootstrap-server",
        what="server to connect to",
        text="REQUIRED: The server(s) to connect to. The broker list string in the form "
        "HOST1:PORT1,HOST2:PORT2.",
        old_names=("broker-list",),
    )
    options.flag(
        "sync",
        text="If set message send requests to the brokers are synchronously, one at a time as they arrive.",
    )
    options.takes(
        "compression-codec",
        what="compression-codec",
        bare="gzip",
        text="The compression codec: either 'none', 'gzip', 'snappy', 'lz4', or 'zstd'. If specified without "
        "value, then it defaults to 'gzip'",
    )
    options.takes(
        "line-reader",
        what="reader_class",
        default=READER,
        text="The class that reads lines from standard in. By default each line is a separate message.",
    )
    _add_properties(options)
    _add_merged(options)
    return options


def _add_properties(options: Parser) -> None:
    reader = (
        "Properties of the message reader in the form key=value: parse.key=false, parse.headers=false, "
        "ignore.error=false, key.separator=\\t, headers.delimiter=\\t, headers.separator=',', "
        "headers.key.separator=:, null.marker= (fields equal to it become null)."
    )
    options.takes("reader-property", what="prop", text=reader)
    options.takes("property", what="prop", text=f"(DEPRECATED) {reader} Use --reader-property instead.")
    options.takes(
        "reader-config",
        what="config file",
        text="Config properties file for the message reader. Note that [reader-property] takes precedence.",
    )
    options.takes(
        "command-property", what="producer_prop", text="Producer config properties in the form key=value."
    )
    options.takes(
        "producer-property", what="producer_prop", text="(DEPRECATED) Use --command-property instead."
    )
    options.takes(
        "command-config",
        what="config file",
        text="Producer config properties file. Note that [command-property] takes precedence over this "
        "config.",
    )
    options.takes("producer.config", what="config file", text="(DEPRECATED) Use --command-config instead.")


def _add_merged(options: Parser) -> None:
    def sets(name: str, kind: str, default: Any, text: str = "") -> None:
        control = f"This is the option to control `{MERGED[name]}` in producer configs."
        options.takes(name, kind=kind, default=default, text=f"{text} {control}".strip())

    sets("batch-size", "Integer", 16_384)
    sets("max-partition-memory-bytes", "Integer", 16_384, "(Deprecated) Use --batch-size instead.")
    sets("message-send-max-retries", "Integer", 3, "How often a message is sent again before it is dropped.")
    sets("retry-backoff-ms", "Long", 100)
    sets("timeout", "Long", 1000, "How long a message may wait for others of its batch.")
    sets("request-required-acks", "String", "-1")
    sets("request-timeout-ms", "Integer", 1500)
    sets("metadata-expiry-ms", "Long", 300_000)
    sets("max-block-ms", "Long", 60_000)
    sets("max-memory-bytes", "Long", 33_554_432)
    sets("socket-buffer-size", "Integer", 102_400)


main = script(console_producer)
