"""The options of `kafka-reassign-partitions`, and which of them each action takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.cli.kafka.options import Given, Parser

ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_REQUIRED: Final = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_ALLOWED: Final = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_ALWAYS: Final = ("bootstrap-server", "command-config")


def read_options(words: Sequence[str]) -> tuple[str, Given]:
    """The one action that was asked for, and what came with it."""
    given = _parser().parse(words)
    actions = [action for action in ACTIONS if given.has(action)]
    if len(actions) != 1:
        shown = ", ".join(f"--{action}" for action in ACTIONS)
        given.refuse(f"Command must include exactly one action: {shown}")
    action = actions[0]
    servers, controllers = given.has("bootstrap-server"), given.has("bootstrap-controller")
    if servers and controllers:
        given.refuse("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not servers and not controllers:
        given.refuse("Please specify either --bootstrap-server or --bootstrap-controller")
    given.require(*_REQUIRED[action])
    allowed = {action, *_REQUIRED[action], *_ALLOWED[action], *_ALWAYS}
    if action in ("cancel", "list"):
        allowed.add("bootstrap-controller")
    for option in given.words_of:
        if not allowed & set(option.names):
            given.refuse(f'Option "{option}" can\'t be used with action "{given.parser.option(action)}"')
    return action, given


def _parser() -> Parser:
    options = Parser("This tool helps to move topic partitions between replicas.")
    options.flag("verify", text="Verify if the reassignment completed, and remove its throttle if it did.")
    options.flag("generate", text="Generate a candidate partition reassignment, without executing it.")
    options.flag("execute", text="Kick off the reassignment of the --reassignment-json-file option.")
    options.flag("cancel", text="Cancel an active reassignment.")
    options.flag("list", text="List all active partition reassignments.")
    options.takes(
        "bootstrap-server",
        what="Server(s) to use for bootstrapping",
        text="the server(s) to use for bootstrapping.",
    )
    options.takes(
        "bootstrap-controller",
        what="bootstrap controller to connect to",
        text="The controller to use for reassignment, with --cancel and --list.",
    )
    options.takes(
        "command-config",
        what="Admin client property file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.takes(
        "reassignment-json-file",
        what="manual assignment json file path",
        text='The JSON file with the partition reassignment: {"partitions": [{"topic": "foo", "partition": '
        '1, "replicas": [1,2,3], "log_dirs": ["any","any","any"]}], "version": 1}. "log_dirs" is optional.',
    )
    options.takes(
        "topics-to-move-json-file",
        what="topics to reassign json file path",
        text='The topics to move to the brokers of --broker-list: {"topics": [{"topic": "foo"}], '
        '"version": 1}',
    )
    options.takes("broker-list", what="brokerlist", text='The brokers to move to, in the form "0,1,2".')
    options.flag("disable-rack-aware", text="Disable rack aware replica assignment")
    options.takes(
        "throttle",
        what="throttle",
        kind="Long",
        default=-1,
        text="The movement of partitions between brokers will be throttled to this value (bytes/sec).",
    )
    options.takes(
        "replica-alter-log-dirs-throttle",
        what="replicaAlterLogDirsThrottle",
        kind="Long",
        default=-1,
        text="The movement of replicas between log directories on one broker will be throttled to this.",
    )
    options.takes(
        "timeout",
        what="timeout",
        kind="Long",
        default=10_000,
        text="The maximum time in ms to wait for log directory replica assignment to begin.",
    )
    options.flag("additional", text="Execute this reassignment in addition to any other ongoing ones.")
    options.flag("preserve-throttles", text="Do not modify broker or topic throttles.")
    return options
