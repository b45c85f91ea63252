"""The options of `kafka-console-consumer`, and which of them go together."""

from __future__ import annotations

from typing import Final

from penstock.cli.kafka.options import Given, Parser

_FORMATTER_PROPERTIES: Final = (
    "The properties to initialize the message formatter: print.timestamp, print.key, print.offset, "
    "print.epoch, print.partition, print.headers, print.value=true|false, key.separator, line.separator, "
    "headers.separator, null.literal, key.deserializer, value.deserializer, headers.deserializer."
)


def parser() -> Parser:
    options = Parser("This tool helps to read data from Kafka topics and outputs it to standard output.")
    options.takes("topic", what="topic", text="The topic to consume from.")
    options.takes(
        "include",
        what="Java regex (String)",
        text="Regular expression specifying list of topics to include for consumption.",
        old_names=("whitelist",),
    )
    options.takes(
        "partition",
        what="partition",
        kind="Integer",
        text="The partition to consume from. Consumption starts from the end of the partition unless "
        "'--offset' is specified.",
    )
    options.takes(
        "offset",
        what="consume offset",
        default="latest",
        text="The offset to consume from (a non-negative number), or 'earliest' which means from beginning, "
        "or 'latest' which means from end",
    )
    options.flag(
        "from-beginning",
        text="If the consumer does not already have an established offset to consume from, start with the "
        "earliest message present in the log rather than the latest message.",
    )
    options.takes(
        "max-messages",
        what="num_messages",
        kind="Integer",
        text="The maximum number of messages to consume before exiting. If not set, consumption is "
        "continual.",
    )
    options.takes(
        "timeout-ms",
        what="timeout_ms",
        kind="Long",
        text="If specified, exit if no message is available for consumption for the specified interval.",
    )
    options.flag(
        "skip-message-on-error",
        text="If there is an error when processing a message, skip it instead of halt.",
    )
    options.takes(
        "bootstrap-server",
        what="server to connect to",
        text="REQUIRED: The server(s) to connect to.",
        old_names=("broker-list",),
    )
    options.takes("group", what="consumer group id", text="The consumer group id of the consumer.")
    options.takes(
        "isolation-level",
        default="read_uncommitted",
        text="Set to read_committed in order to filter out transactional messages which are not committed. "
        "Set to read_uncommitted to read all messages.",
    )
    _add_formatting(options)
    _add_settings(options)
    return options


def _add_formatting(options: Parser) -> None:
    options.takes(
        "formatter",
        what="class",
        default="org.apache.kafka.tools.consumer.DefaultMessageFormatter",
        text="The name of a class to use for formatting kafka messages for display.",
    )
    options.takes("formatter-property", what="prop", text=_FORMATTER_PROPERTIES)
    options.takes("property", what="prop", text="(DEPRECATED) Use --formatter-property instead.")
    options.takes(
        "formatter-config",
        what="config file",
        text="Config properties file to initialize the message formatter. Note that [formatter-property] "
        "takes precedence over this config.",
    )
    options.takes(
        "key-deserializer",
        what="deserializer for keys",
        text="The name of the class to use for deserializing keys.",
    )
    options.takes(
        "value-deserializer",
        what="deserializer for values",
        text="The name of the class to use for deserializing values.",
    )


def _add_settings(options: Parser) -> None:
    options.takes(
        "command-property", what="consumer_prop", text="Consumer config properties in the form key=value."
    )
    options.takes(
        "consumer-property", what="consumer_prop", text="(DEPRECATED) Use --command-property instead."
    )
    options.takes(
        "command-config",
        what="config file",
        text="Consumer config properties file. Note that [command-property] takes precedence over this "
        "config.",
    )
    options.takes("consumer.config", what="config file", text="(DEPRECATED) Use --command-config instead.")
    options.flag("new-consumer", text="(REMOVED) There is no other consumer any more; it changes nothing.")


def checked(given: Given) -> Given:
    """The same, or the error that Kafka has for what does not go together."""
    if given.has("topic") == given.has("include"):
        given.refuse("Exactly one of the following arguments is required: [topic], [include]")
    if given.has("partition"):
        if not given.has("topic"):
            given.refuse("The topic is required when partition is specified.")
        if given.has("from-beginning") and given.has("offset"):
            given.refuse("Options from-beginning and offset cannot be specified together.")
    elif given.has("offset"):
        given.refuse("The partition is required when offset is specified.")
    given.require("bootstrap-server")
    return given
