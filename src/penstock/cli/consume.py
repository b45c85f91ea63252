"""`penstock consume`: prints the records of a topic, from now on or from anywhere. It joins no group."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from penstock.cli.options import client_options
from penstock.cli.output import json_bytes, print_json
from penstock.client.messages import Messages
from penstock.client.paging import FromOffset, FromTimestamp, Message, Oldest, Start
from penstock.client.stream import Stream

NULL = b"null"
LONGEST_WAIT_S = 1.0


@click.command()
@click.argument("topic")
@click.option("--from-beginning", is_flag=True, help="Start at the oldest record instead of at the end.")
@click.option("--partition", type=click.IntRange(min=0), help="Only this partition.")
@click.option("--offset", type=click.IntRange(min=0), help="Start at this offset of each partition read.")
@click.option(
    "--timestamp", "timestamp_ms", type=click.IntRange(min=0), metavar="MS",
    help="Start at the first record of this time or later, in milliseconds since 1970, UTC.",
)  # fmt: skip
@click.option("--max", "limit", type=click.IntRange(min=1), metavar="N", help="End after so many records.")
@click.option(
    "--idle", "idle_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="End when no record came for so long.",
)  # fmt: skip
@click.option("--key-separator", metavar="TEXT", help="Print each key before its value, with this between.")
@click.option(
    "--isolation-level",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="Whether to show records of transactions that are open or aborted.",
)
@client_options
def consume(
    topic: str,
    from_beginning: bool,
    partition: int | None,
    offset: int | None,
    timestamp_ms: int | None,
    limit: int | None,
    idle_s: float | None,
    key_separator: str | None,
    isolation_level: str,
    bootstrap_servers: str,
    timeout_s: float,
    as_json: bool,
) -> None:
    """Print the records of TOPIC as they come, until Ctrl-C, --max or --idle.

    With --max, fewer records at the end of --idle are a failure (exit code 1).
    """
    start = choose_start(from_beginning, offset, timestamp_ms)
    messages = Messages(bootstrap_servers, timeout_s=timeout_s, isolation_level=isolation_level)
    printer = print_message_json if as_json else TextPrinter(key_separator)
    with messages.stream(topic, start, partition=partition) as stream:
        printed = print_records(stream, printer, limit, idle_s)
    if limit is not None and printed < limit:
        raise click.ClickException(f"Only {printed} of {limit} records came; none for {idle_s:g} s.")


def choose_start(from_beginning: bool, offset: int | None, timestamp_ms: int | None) -> Start | None:
    """Where to start; None is the end."""
    if sum((from_beginning, offset is not None, timestamp_ms is not None)) > 1:
        raise click.UsageError("Give one of --from-beginning, --offset and --timestamp.")
    if offset is not None:
        return FromOffset(offset)
    if timestamp_ms is not None:
        return FromTimestamp(timestamp_ms)
    return Oldest() if from_beginning else None


def print_records(stream: Stream, printer: Any, limit: int | None, idle_s: float | None) -> int:
    """Prints until the limit is reached or the stream has been idle; returns how many."""
    printed = 0
    idle_from = time.monotonic()
    while limit is None or printed < limit:
        wait_s = LONGEST_WAIT_S if idle_s is None else idle_from + idle_s - time.monotonic()
        if wait_s <= 0:
            break
        found = stream.poll(min(wait_s, LONGEST_WAIT_S), 500 if limit is None else min(500, limit - printed))
        for message in found:
            printer(message)
        if found:
            sys.stdout.flush()
            printed += len(found)
            idle_from = time.monotonic()
    return printed


class TextPrinter:
    """A record's value, byte for byte, on a line; its key before it when asked for."""

    def __init__(self, key_separator: str | None) -> None:
        self._separator = None if key_separator is None else key_separator.encode()

    def __call__(self, message: Message) -> None:
        out = sys.stdout.buffer
        if self._separator is not None:
            out.write(NULL if message.key is None else message.key)
            out.write(self._separator)
        out.write(NULL if message.value is None else message.value)
        out.write(b"\n")


def print_message_json(message: Message) -> None:
    """A record with all that belongs to it; bytes that are not UTF-8 as base64 under another name."""
    print_json(
        {
            "topic": message.topic,
            "partition": message.partition,
            "offset": message.offset,
            "timestamp": message.timestamp_ms,
            "timestamp_type": message.timestamp_type,
            **json_bytes("key", message.key),
            **json_bytes("value", message.value),
            "headers": [{"name": name, **json_bytes("value", value)} for name, value in message.headers],
        }
    )
