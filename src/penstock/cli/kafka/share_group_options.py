"""The options of `kafka-share-groups`, and which of them go together."""

from __future__ import annotations

from typing import Final

from penstock.cli.kafka.options import Given, Parser

ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
SCENARIOS: Final = ("to-datetime", "to-earliest", "to-latest")
NO_VALUE: Final = ""


def parser() -> Parser:
    options = Parser("This tool helps to list, describe, reset and delete share groups.")
    options.takes("bootstrap-server", what="server to connect to", text="The server(s) to connect to.")
    options.takes("group", what="share group", text="The share group we wish to act on.")
    options.takes(
        "topic",
        what="topic",
        text="The topic whose offset information should be deleted or included in the reset offset process. "
        "Partitions can be specified using this format: 'topic1:0,1,2'.",
    )
    options.flag("all-topics", text="Consider all topics assigned to a share group in 'reset-offsets'.")
    options.flag("all-groups", text="Apply to all share groups.")
    options.flag("list", text="List all share groups.")
    options.flag("describe", text="Describe share group, members and offset information.")
    options.flag("delete", text="Delete share group.")
    options.flag("reset-offsets", text="Reset offsets of share group, whose members must be inactive.")
    options.flag("delete-offsets", text="Delete offsets of share group.")
    options.takes("timeout", what="timeout (ms)", kind="Long", default=30_000, text="How long to wait.")
    options.takes(
        "command-config",
        what="command config property file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.flag("members", text="With '--describe', the members of the group.")
    options.flag("offsets", text="With '--describe', the offsets of the group.")
    options.takes("state", bare=NO_VALUE, text="With '--describe', the state; with '--list', of all groups.")
    options.flag("verbose", text="Provide additional information, if any, when describing the group.")
    options.flag("dry-run", text="Only show results without executing changes on share groups.")
    options.flag("execute", text="Execute operation. Supported operations: reset-offsets.")
    options.takes(
        "to-datetime",
        what="datetime",
        text="Reset offsets to offset from datetime. Format: 'YYYY-MM-DDThh:mm:ss.sss'",
    )
    options.flag("to-earliest", text="Reset offsets to earliest offset.")
    options.flag("to-latest", text="Reset offsets to latest offset.")
    return options


def checked(given: Given) -> Given:
    """The same, or the error that Kafka has for what does not go together."""
    given.require("bootstrap-server")
    if given.has("describe"):
        _check_describe(given)
    if given.has("delete") and not (given.has("group") or given.has("all-groups")):
        given.refuse("Option [delete] takes the options [group] or [all-groups]")
    if given.has("reset-offsets"):
        _check_reset(given)
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        given.refuse("Option [delete-offsets] takes the following options: [group], [topic]")
    given.forbid("group", "all-groups", "list")
    given.forbid("topic", "list", "describe")
    if sum(given.has(action) for action in ACTIONS) != 1:
        given.refuse(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, "
            "--delete-offsets."
        )
    return given


def _check_describe(given: Given) -> None:
    if not given.has("group") and not given.has("all-groups"):
        given.refuse("Option [describe] takes one of these options: [all-groups], [group]")
    if sum(given.has(view) for view in ("members", "offsets", "state")) > 1:
        given.refuse("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if given.has("state") and given.value("state") != NO_VALUE:
        given.refuse("Option [describe] does not take a value for [state]")


def _check_reset(given: Given) -> None:
    if not given.has("dry-run") and not given.has("execute"):
        given.refuse("Option [reset-offsets] takes the option: [execute] or [dry-run]")
    if given.has("dry-run") and given.has("execute"):
        given.refuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("group"):
        given.refuse("Option [reset-offsets] takes the option [group]")
    if not given.has("topic") and not given.has("all-topics"):
        given.refuse("Option [reset-offsets] takes one of these options: [all-topics], [topic]")
    for scenario in SCENARIOS:
        given.forbid(scenario, *(other for other in SCENARIOS if other != scenario))
