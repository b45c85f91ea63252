"""The options of `kafka-topics`, and which of them go together."""

from __future__ import annotations

from typing import Final

from penstock.cli.kafka.options import CommandFailed, Given, Parser

ACTIONS: Final = ("create", "alter", "list", "describe", "delete")
REPORTS: Final = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
_USE_CONFIGS: Final = " (To alter topic configurations, the kafka-configs tool can be used.)"


def parser() -> Parser:
    options = Parser(
        "This tool helps to create, delete, describe, or change a topic.",
        empty="Create, delete, describe, or change a topic.",
    )
    options.takes(
        "bootstrap-server", what="server to connect to", text="REQUIRED: The Kafka server to connect to."
    )
    options.takes(
        "command-config",
        what="command config property file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.flag("list", text="List all available topics.")
    options.flag("create", text="Create a new topic.")
    options.flag("delete", text="Delete a topic.")
    options.flag("alter", text=f"Alter the number of partitions and replica assignment.{_USE_CONFIGS}")
    options.flag("describe", text="List details for the given topics.")
    options.takes(
        "topic",
        what="topic",
        text="The topic to create, alter, describe or delete. It also accepts a regular expression, except "
        "for --create option. Put topic name in double quotes and use the '\\' prefix to escape regular "
        'expression symbols; e.g. "test\\.topic".',
    )
    options.takes("topic-id", what="topic-id", text="The topic-id to describe.")
    options.takes(
        "config",
        what="name=value",
        text="A topic configuration override for the topic being created. It is supported only in "
        f"combination with --create.{_USE_CONFIGS}",
    )
    options.takes(
        "partitions",
        what="# of partitions",
        kind="Integer",
        text="The number of partitions for the topic being created or altered. If not supplied with "
        "--create, the topic uses the cluster default. (WARNING: If partitions are increased for a topic "
        "that has a key, the partition logic or ordering of the messages will be affected).",
    )
    options.takes(
        "replication-factor",
        what="replication factor",
        kind="Integer",
        text="The replication factor for each partition in the topic being created. If not supplied, the "
        "topic uses the cluster default.",
    )
    options.takes(
        "replica-assignment",
        what="broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , ...",
        text="A list of manual partition-to-broker assignments for the topic being created or altered.",
    )
    _add_filters(options)
    return options


def _add_filters(options: Parser) -> None:
    shown = "If set when describing topics, only show "
    options.flag("under-replicated-partitions", text=f"{shown}under-replicated partitions.")
    options.flag("unavailable-partitions", text=f"{shown}partitions whose leader is not available.")
    options.flag(
        "under-min-isr-partitions",
        text=f"{shown}partitions whose isr count is less than the configured minimum.",
    )
    options.flag(
        "at-min-isr-partitions",
        text=f"{shown}partitions whose isr count is equal to the configured minimum.",
    )
    options.flag("topics-with-overrides", text=f"{shown}topics that have overridden configs.")
    options.flag(
        "if-exists",
        text="If set when altering or deleting or describing topics, the action will only execute if the "
        "topic exists.",
    )
    options.flag(
        "if-not-exists",
        text="If set when creating topics, the action will only execute if the topic does not already exist.",
    )
    options.flag(
        "exclude-internal",
        text="Exclude internal topics when listing or describing topics. By default, the internal topics are "
        "included.",
    )
    options.takes(
        "partition-size-limit-per-response",
        what="maximum number of partitions per response",
        kind="Integer",
        text="The maximum partition size to be included in one DescribeTopicPartitions response.",
    )


def checked(given: Given) -> Given:
    """The same, or the error that Kafka has for what does not go together."""
    if sum(given.has(action) for action in ACTIONS) != 1:
        given.refuse(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    _check_required(given)
    _check_combinations(given)
    return given


def _check_required(given: Given) -> None:
    if not given.has("bootstrap-server"):
        raise CommandFailed("--bootstrap-server must be specified")
    if given.has("describe") and given.has("if-exists"):
        if not given.has("topic") and not given.has("topic-id"):
            given.refuse("--topic or --topic-id is required to describe a topic")
        if given.has("topic") and given.has("topic-id"):
            print(
                "Only topic id will be used when both --topic and --topic-id are specified and topicId is "
                "not Uuid.ZERO_UUID"
            )
    if not given.has("list") and not given.has("describe"):
        given.require("topic")
    if given.has("alter"):
        if given.has("config"):
            given.refuse(
                'Option combination "[[config], [bootstrap-server]]" can\'t be used with option '
                f'"[alter]"{_USE_CONFIGS}'
            )
        given.require("partitions")


def _check_combinations(given: Given) -> None:
    def only_with(option: str, *actions: str) -> None:
        given.forbid(option, *(action for action in ACTIONS if action not in actions))

    only_with("config", "alter", "create")
    only_with("partitions", "alter", "create")
    only_with("replication-factor", "create")
    only_with("replica-assignment", "alter", "create")
    if given.has("create"):
        given.forbid("replica-assignment", "partitions", "replication-factor")
    for report in REPORTS:
        only_with(report, "describe")
        given.forbid(report, "topics-with-overrides")
    only_with("topics-with-overrides", "describe")
    only_with("if-exists", "alter", "delete", "describe")
    only_with("if-not-exists", "create")
    only_with("exclude-internal", "list", "describe")
