"""`kafka-console-share-consumer`: prints the records that a share group (KIP-932) gives this member."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.formatters import Formatter, formatter
from penstock.cli.kafka.options import CommandFailed, Given, Parser, UsageError
from penstock.cli.kafka.properties import key_values, load_properties, one_of
from penstock.cli.kafka.starting import script

GROUP: Final = "console-share-consumer"
POLL_SECONDS: Final = 1.0


def console_share_consumer(words: Sequence[str]) -> int:
    given = _parser().parse_or_help(words)
    if not given.has("topic"):
        given.refuse("--topic is a required argument")
    given.require("bootstrap-server")
    if given.has("reject") and given.has("release"):
        given.refuse("At most one of --reject and --release may be specified.")
    settings, how = _settings(given), _formatter(given)
    count = 0
    from penstock.client.api.exceptions import KafkaException

    try:
        for text in _texts(given, settings, how):
            count += 1
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
    except KafkaException as error:
        raise CommandFailed(str(error)) from error
    finally:
        print(f"Processed a total of {count} messages", file=sys.stderr)
    return 0


def _texts(given: Given, settings: dict[str, Any], how: Formatter) -> Any:
    """Each record as it is printed, acknowledged when it was."""
    from penstock.client.api.share import AcknowledgeType, ShareConsumer

    wanted = given.value("max-messages")
    left = float("inf") if wanted is None or wanted < 0 else wanted
    timeout_ms = given.value("timeout-ms")
    patience = float("inf") if timeout_ms is None or timeout_ms < 0 else timeout_ms / 1000
    kind = AcknowledgeType.ACCEPT
    if given.has("reject") or given.has("release"):
        kind = AcknowledgeType.REJECT if given.has("reject") else AcknowledgeType.RELEASE
    with ShareConsumer(settings) as consumer:
        consumer.subscribe([given.value("topic")])
        since = time.monotonic()
        while left > 0:
            found = list(consumer.poll(min(POLL_SECONDS, patience)))
            for record in found:
                if left <= 0:
                    consumer.acknowledge(record, AcknowledgeType.RELEASE)
                    continue
                left -= 1
                yield how.text_of(record)
                consumer.acknowledge(record, kind)
            if found:
                consumer.commit_sync()
                since = time.monotonic()
            elif time.monotonic() - since > patience:
                return


def _settings(given: Given) -> dict[str, Any]:
    config = one_of(given, "command-config", "consumer-config")
    pairs = one_of(given, "command-property", "consumer-property")
    settings: dict[str, Any] = load_properties(given.value(config)) | key_values(given.values(pairs))
    settings["bootstrap.servers"] = given.value("bootstrap-server")
    settings["group.id"] = given.value("group") or settings.get("group.id") or GROUP
    settings["share.acknowledgement.mode"] = "explicit"
    settings.setdefault("client.id", "console-share-consumer")
    return settings


def _formatter(given: Given) -> Formatter:
    shown = one_of(given, "formatter-property", "property")
    properties = load_properties(given.value("formatter-config"))
    for option in ("key-deserializer", "value-deserializer"):
        if given.value(option):
            properties[option.replace("-", ".")] = given.value(option)
    try:
        return formatter(given.value("formatter"), properties | key_values(given.values(shown)))
    except CommandFailed as error:
        raise UsageError(str(error), given.parser.help_text()) from None


def _parser() -> Parser:
    options = Parser(
        "This tool helps to read data from Kafka topics using share groups and outputs it to standard output."
    )
    options.takes("topic", what="topic", text="The topic to consume from.")
    options.takes(
        "bootstrap-server", what="server to connect to", text="REQUIRED: The server(s) to connect to."
    )
    options.takes("group", what="share group id", text="The share group id of the consumer.")
    options.takes(
        "max-messages", what="num_messages", kind="Integer", text="The maximum number of messages to consume."
    )
    options.takes(
        "timeout-ms", what="timeout_ms", kind="Long", text="Exit if no message is available for so long."
    )
    options.flag("reject", text="If specified, messages are rejected as they are consumed.")
    options.flag("release", text="If specified, messages are released as they are consumed.")
    options.takes(
        "formatter",
        what="class",
        default="org.apache.kafka.tools.consumer.DefaultMessageFormatter",
        text="The name of a class to use for formatting Kafka messages for display.",
    )
    options.takes(
        "formatter-property", what="prop", text="The properties to initialize the message formatter."
    )
    options.takes("property", what="prop", text="(DEPRECATED) Use --formatter-property instead.")
    options.takes("formatter-config", what="config file", text="Properties file of the message formatter.")
    options.takes("key-deserializer", what="class", text="The class to use for deserializing keys.")
    options.takes("value-deserializer", what="class", text="The class to use for deserializing values.")
    options.takes("command-property", what="prop", text="Consumer config properties in the form key=value.")
    options.takes("consumer-property", what="prop", text="(DEPRECATED) Use --command-property instead.")
    options.takes("command-config", what="config file", text="Consumer config properties file.")
    options.takes("consumer-config", what="config file", text="(DEPRECATED) Use --command-config instead.")
    return options


main = script(console_share_consumer)
