"""`penstock consume`: prints the records of a topic, from now on or from anywhere. It joins no group."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any

import click

from penstock.cli import profiles
from penstock.cli.access import Access
from penstock.cli.options import client_options
from penstock.cli.output import print_json
from penstock.cli.record_format import FORMATS, View, as_json, compiled, matches, view_of
from penstock.cli.service_access import ServiceAddress, service_access
from penstock.cli.times import FORMS, moment
from penstock.client.errors import ClientError
from penstock.client.paging import FromOffset, FromTimestamp, Oldest, Start
from penstock.client.stream import Stream

NULL = b"null"
LONGEST_WAIT_S = 1.0
Printer = Callable[[View], None]


@click.command()
@click.argument("topic")
@click.option("--from-beginning", is_flag=True, help="Start at the oldest record instead of at the end.")
@click.option("--partition", "-p", type=click.IntRange(min=0), help="Only this partition.")
@click.option(
    "--offset", "-o", type=click.IntRange(min=0), help="Start at this offset of each partition read."
)
@click.option(
    "--since", "--timestamp", "since_ms", callback=moment, metavar="TIME",
    help=f"Start at the first record of this time or later: {FORMS}.",
)  # fmt: skip
@click.option(
    "--until", "until_ms", callback=moment, metavar="TIME",
    help="Leave out records of this time or later, and end where the topic ends now.",
)  # fmt: skip
@click.option("--end", "-e", "at_end", is_flag=True, help="End where the topic ends now, instead of waiting.")
@click.option(
    "--max", "-c", "limit", type=click.IntRange(min=1), metavar="N", help="End after so many records."
)
@click.option(
    "--idle", "idle_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="End when no record came for so long.",
)  # fmt: skip
@click.option("--grep", metavar="REGEX", help="Only records whose key, value or a header matches.")
@click.option("--format", "-f", "layout", metavar="FORMAT", help=f"As kcat's: {FORMATS}.")
@click.option("--key-separator", metavar="TEXT", help="Print each key before its value, with this between.")
@click.option("--headers", is_flag=True, help="Print the headers before the rest.")
@click.option(
    "--decode", is_flag=True, help="Decode keys and values by their schemas (Avro, JSON Schema, Protobuf)."
)
@click.option("--registry", metavar="URL", help="Address of the Schema Registry; implies --decode.")
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
    since_ms: int | None,
    until_ms: int | None,
    at_end: bool,
    limit: int | None,
    idle_s: float | None,
    grep: str | None,
    layout: str | None,
    key_separator: str | None,
    headers: bool,
    decode: bool,
    registry: str | None,
    isolation_level: str,
    access: Access,
    as_json: bool,
) -> None:
    """Print the records of TOPIC as they come, until Ctrl-C, --max, --end or --idle.

    With --max, fewer records at the end of --idle are a failure (exit code 1).
    """
    start = choose_start(from_beginning, offset, since_ms)
    url = registry or (profiles.registry_url() if decode else None)
    service = None if url is None else ServiceAddress(url, service_access(access.properties))
    chosen = _Chosen(_pattern(grep), until_ms, service)
    printer = _printer(as_json, layout, key_separator, headers)
    messages = access.messages(isolation_level)
    ends = at_end or until_ms is not None
    with messages.stream(topic, start, partition=partition, complete=ends) as stream:
        printed = print_records(stream, chosen, printer, limit, idle_s, to_end=ends)
    if limit is not None and printed < limit and not ends:
        raise click.ClickException(f"Only {printed} of {limit} records came; none for {idle_s:g} s.")


def choose_start(from_beginning: bool, offset: int | None, since_ms: int | None) -> Start | None:
    """Where to start; None is the end."""
    if sum((from_beginning, offset is not None, since_ms is not None)) > 1:
        raise click.UsageError("Give one of --from-beginning, --offset and --since.")
    if offset is not None:
        return FromOffset(offset)
    if since_ms is not None:
        return FromTimestamp(since_ms)
    return Oldest() if from_beginning else None


def _pattern(text: str | None) -> re.Pattern[bytes] | None:
    try:
        return None if text is None else re.compile(text.encode())
    except re.error as error:
        raise click.UsageError(f"--grep {text!r} is no regular expression: {error}.") from None


class _Chosen:
    """Which records are printed, and as what they are seen."""

    def __init__(
        self, pattern: re.Pattern[bytes] | None, until_ms: int | None, registry: ServiceAddress | None
    ) -> None:
        self._pattern, self._until_ms = pattern, until_ms
        self._schemas: Any = None
        if registry is not None:
            from penstock.cli.schema_values import SchemaValues
            from penstock.client.schema_registry import SchemaRegistry

            url, known = registry
            client = SchemaRegistry(url, authorization=known.authorization, tls=known.tls)
            self._schemas = SchemaValues(client)

    def __call__(self, message: Any) -> View | None:
        late = self._until_ms is not None and (message.timestamp_ms or 0) >= self._until_ms
        view = None if late else self._seen(message)
        return view if view is not None and matches(view, self._pattern) else None

    def _seen(self, message: Any) -> View:
        if self._schemas is None:
            return view_of(message, None)
        from penstock.client.schema_registry import RegistryError
        from penstock.schemas.errors import SchemaError

        try:
            return view_of(message, self._schemas)
        except (RegistryError, SchemaError) as error:
            place = f"{message.topic}-{message.partition} at offset {message.offset}"
            raise ClientError(f"The record of {place} cannot be decoded: {error}") from error


def print_records(
    stream: Stream,
    chosen: _Chosen,
    printer: Printer,
    limit: int | None,
    idle_s: float | None,
    *,
    to_end: bool,
) -> int:
    """Prints until the limit, the end or a time without records; returns how many were printed."""
    printed = 0
    idle_from = time.monotonic()
    while limit is None or printed < limit:
        wait_s = LONGEST_WAIT_S if idle_s is None else idle_from + idle_s - time.monotonic()
        if wait_s <= 0:
            break
        found = stream.poll(min(wait_s, LONGEST_WAIT_S))
        for message in found:
            view = chosen(message)
            if view is not None and (limit is None or printed < limit):
                printer(view)
                printed += 1
        if found:
            sys.stdout.flush()
            idle_from = time.monotonic()
        elif to_end and stream.ends.keys() >= stream.partitions:
            break
    return printed


def _printer(as_lines: bool, layout: str | None, key_separator: str | None, headers: bool) -> Printer:
    if as_lines:
        return lambda view: print_json(as_json(view))
    if layout is None:
        return TextPrinter(key_separator, headers)
    text_of = compiled(layout)

    def formatted(view: View) -> None:
        sys.stdout.buffer.write(text_of(view))

    return formatted


class TextPrinter:
    """A record's value, byte for byte, on a line; headers and key before it when asked for."""

    def __init__(self, key_separator: str | None, headers: bool) -> None:
        self._separator = None if key_separator is None else key_separator.encode()
        self._headers = compiled("%h\\t") if headers else None

    def __call__(self, view: View) -> None:
        out = sys.stdout.buffer
        if self._headers is not None:
            out.write(self._headers(view))
        if self._separator is not None:
            out.write(NULL if view.key is None else view.key)
            out.write(self._separator)
        out.write(NULL if view.value is None else view.value)
        out.write(b"\n")
