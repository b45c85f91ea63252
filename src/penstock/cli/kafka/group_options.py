"""The options of `kafka-consumer-groups`, and which of them go together."""

from __future__ import annotations

import sys
from typing import Final

from penstock.cli.kafka.options import Given, OptionError, Parser

ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS: Final = (
    "from-file",
    "to-datetime",
    "by-duration",
    "to-latest",
    "to-current",
    "to-earliest",
    "to-offset",
    "shift-by",
)
NO_VALUE: Final = ""
_AVAILABLE: Final = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
"""Options that joptsimple allows only beside one of these."""
_NO_EXECUTE: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will "
    "require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly "
    "if you are scripting this command and want to keep the current default behavior without prompting."
)


def parser() -> Parser:
    options = Parser(
        "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, "
        "or reset consumer group offsets."
    )
    options.takes("bootstrap-server", what="server to connect to", text="The server(s) to connect to.")
    options.takes("group", what="consumer group", text="The consumer group we wish to act on.")
    options.takes(
        "topic",
        what="topic",
        text="The topic whose consumer group information should be deleted or topic whose should be included "
        "in the reset offset process. Partitions can be specified using this format: `topic1:0,1,2`.",
    )
    options.flag("all-topics", text="Consider all topics assigned to a group in the `reset-offsets` process.")
    options.flag("list", text="List all consumer groups.")
    options.flag("describe", text="Describe consumer group and list offset lag related to given group.")
    options.flag("all-groups", text="Apply to all consumer groups.")
    options.flag(
        "delete",
        text="Pass in groups to delete topic partition offsets and ownership information over the entire "
        "consumer group. For instance --group g1 --group g2",
    )
    options.takes(
        "timeout",
        what="timeout (ms)",
        kind="Long",
        default=5000,
        text="How long to wait for an answer, and for a group that is changing.",
    )
    options.takes(
        "command-config",
        what="command config property file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.flag("members", text="Describe members of the group.")
    options.flag("verbose", text="Provide additional information, if any, when describing the group.")
    options.flag("offsets", text="Describe the group and list all topic partitions with their offset lag.")
    options.takes(
        "state",
        bare=NO_VALUE,
        text="With '--describe', the state of the group; with '--list', of all groups.",
    )
    options.takes("type", bare=NO_VALUE, text="With '--list', the types of all the groups.")
    _add_resets(options)
    return options


def _add_resets(options: Parser) -> None:
    options.flag(
        "reset-offsets",
        text="Reset offsets of consumer group, whose instances should be inactive. --dry-run (the default) "
        "plans which offsets to reset, --execute updates the offsets, --export prints CSV.",
    )
    options.takes(
        "validate-regex",
        what="regex",
        text="Validate that the syntax of the provided regular expression is valid according to RE2.",
    )
    options.flag("delete-offsets", text="Delete offsets of consumer group.")
    options.flag("dry-run", text="Only show results without executing changes on Consumer Groups.")
    options.flag("execute", text="Execute operation. Supported operations: reset-offsets.")
    options.flag("export", text="Export operation execution to a CSV file.")
    options.takes("to-offset", what="offset", kind="Long", text="Reset offsets to a specific offset.")
    options.takes("from-file", what="path to CSV file", text="Reset offsets to values defined in CSV file.")
    options.takes(
        "to-datetime",
        what="datetime",
        text="Reset offsets to offset from datetime. Format: 'YYYY-MM-DDThh:mm:ss.sss'",
    )
    options.takes(
        "by-duration",
        what="duration",
        text="Reset offsets to offset by duration from current timestamp. Format: 'PnDTnHnMnS'",
    )
    options.flag("to-earliest", text="Reset offsets to earliest offset.")
    options.flag("to-latest", text="Reset offsets to latest offset.")
    options.flag("to-current", text="Reset offsets to current offset.")
    options.takes(
        "shift-by",
        what="number-of-offsets",
        kind="Long",
        text="Reset offsets shifting current offset by 'n', where 'n' can be positive or negative.",
    )


def checked(given: Given) -> Given:
    """The same, or the error that Kafka has for what does not go together."""
    _check_available(given)
    if not given.has("validate-regex"):
        given.require("bootstrap-server")
    _check_scopes(given)
    if given.has("reset-offsets"):
        _check_reset(given)
    given.forbid("group", "all-groups", "list")
    given.forbid("topic", "list", "describe")
    if sum(given.has(action) for action in ACTIONS) != 1:
        given.refuse(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, "
            "--delete-offsets, --validate-regex"
        )
    return given


def _check_available(given: Given) -> None:
    alone = [
        name
        for name, beside in _AVAILABLE.items()
        if given.has(name) and not any(given.has(other) for other in beside)
    ]
    if alone:
        raise OptionError(
            f"Option(s) [{', '.join(alone)}] are unavailable given other options on the command line"
        )


def _check_scopes(given: Given) -> None:
    has_scope = given.has("group") or given.has("all-groups")
    for action in ("describe", "delete"):
        if given.has(action) and not has_scope:
            given.refuse(f"Option [{action}] takes one of these options: [all-groups], [group]")
    if given.has("describe"):
        if sum(given.has(view) for view in ("members", "offsets", "state")) > 1:
            given.refuse(
                "Option [describe] takes at most one of these options: [members], [offsets], [state]"
            )
        if given.has("state") and given.value("state") != NO_VALUE:
            given.refuse("Option [describe] does not take a value for [state]")
    if given.has("delete") and given.has("topic"):
        given.refuse("The consumer does not support topic-specific offset deletion from a consumer group.")
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        given.refuse("Option [delete-offsets] takes the following options: [topic], [group]")


def _check_reset(given: Given) -> None:
    if given.has("dry-run") and given.has("execute"):
        given.refuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        print(_NO_EXECUTE, file=sys.stderr)
    if not given.has("group") and not given.has("all-groups"):
        given.refuse("Option [reset-offsets] takes one of these options: [all-groups], [group]")
    for scenario in SCENARIOS:
        given.forbid(scenario, *(other for other in SCENARIOS if other != scenario))
