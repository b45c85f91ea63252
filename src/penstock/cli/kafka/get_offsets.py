"""`kafka-get-offsets`, once `kafka-run-class kafka.tools.GetOffsetShell`: offsets of partitions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Final

from penstock.cli.kafka.asking import Asker
from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.partition_offsets import EARLIEST, LATEST, NOT_FOUND, partition_offsets
from penstock.cli.kafka.properties import check_addresses, load_properties
from penstock.cli.kafka.starting import script
from penstock.cli.kafka.topic_names import INTERNAL, pattern_of

MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
TIMES: Final = {
    "earliest": EARLIEST,
    "latest": LATEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}
ABOUT: Final = "An interactive shell for getting topic-partition offsets."
_TIME_WORDS: Final = (
    "-1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / "
    "-6 or earliest-pending-upload"
)
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
Filter = Callable[[str, int], bool]


def get_offsets(words: Sequence[str]) -> int:
    try:
        given = _parser().parse(words)
        given.require("bootstrap-server")
        check_addresses(given, "bootstrap-server")
        _print_offsets(given)
    except CommandFailed as error:
        print(f"Error occurred: {error}", file=sys.stderr)
        return 1
    return 0


def _print_offsets(given: Given) -> None:
    if given.has("topic-partitions") and (given.has("topic") or given.has("partitions")):
        raise CommandFailed("--topic-partitions cannot be used with --topic or --partitions")
    time_ms = _time(given.value("time"))
    wanted = _filter(given)
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    found = [
        (name, index)
        for name, topic in asker.topics(None).items()
        if not (given.has("exclude-internal-topics") and name in INTERNAL)
        for index in topic.partitions
        if wanted(name, index)
    ]
    if not found:
        raise CommandFailed("Could not match any topic-partitions with the specified filters")
    offsets = partition_offsets(asker, dict.fromkeys(found, time_ms))
    for name, index in sorted(found, key=lambda at: f"{at[0]}-{at[1]}"):
        if offsets[name, index] != NOT_FOUND:
            print(f"{name}:{index}:{offsets[name, index]}")


def _time(text: str) -> int:
    if text in TIMES:
        return TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise CommandFailed(
            f"Malformed time argument {text}. Please use {_TIME_WORDS}, or a specified long format timestamp"
        ) from None


def _filter(given: Given) -> Filter:
    if given.has("topic-partitions"):
        rules = [_rule(text) for text in given.value("topic-partitions").split(",")]
        return lambda name, index: any(rule(name, index) for rule in rules)
    pattern = pattern_of(given.value("topic") or ".*")
    text = given.value("partitions") or ""
    if not re.fullmatch(r"(\d+(,\d+)*)?", text):
        raise CommandFailed(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        )
    indexes = {int(word) for word in text.split(",") if word}
    return lambda name, index: bool(pattern.fullmatch(name)) and (not indexes or index in indexes)


def _rule(text: str) -> Filter:
    """`topic:1`, `topic:0-3`, `topic`, `topic:5-`, `topic:-3`, `:2`; the topic is a regular expression."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise CommandFailed(f"Invalid rule specification: {text}")
    topic, one, lower, upper = found.groups()
    pattern = pattern_of(topic or ".*")
    if one:
        return lambda name, index: bool(pattern.fullmatch(name)) and index == int(one)
    first, end = int(lower or 0), int(upper) if upper else sys.maxsize
    return lambda name, index: bool(pattern.fullmatch(name)) and first <= index < end


def _parser() -> Parser:
    options = Parser(ABOUT)
    options.takes(
        "bootstrap-server",
        what="HOST1:PORT1,...,HOST3:PORT3",
        text="REQUIRED. The server(s) to connect to in the form HOST1:PORT1,HOST2:PORT2.",
        old_names=("broker-list",),
    )
    options.takes(
        "topic-partitions",
        what="topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3",
        text="Comma separated list of topic-partition patterns to get the offsets for. The part before ':' "
        "is a regex for the topic name; the part after it is a number, or a range whose end is exclusive.",
    )
    options.takes(
        "topic",
        what="topic",
        text="The topic to get the offsets for. It also accepts a regular expression. If not present, all "
        "authorized topics are queried. Cannot be used if --topic-partitions is present.",
    )
    options.takes(
        "partitions",
        what="partition ids",
        text="Comma separated list of partition ids to get the offsets for. If not present, all partitions "
        "of the authorized topics are queried. Cannot be used if --topic-partitions is present.",
    )
    options.takes(
        "time",
        what=f"<timestamp> / {_TIME_WORDS}",
        default="latest",
        text="timestamp of the offsets before that. [Note: No offset is returned, if the timestamp greater "
        "than recently committed record timestamp is given.]",
    )
    options.takes(
        "command-config",
        what="config file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.flag(
        "exclude-internal-topics",
        text="By default, internal topics are included. If specified, internal topics are excluded.",
    )
    return options


main = script(get_offsets)
