"""`penstock produce`: each line of standard input becomes a record."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

import click

from penstock.cli.access import Access
from penstock.cli.options import assignments, client_options
from penstock.cli.output import print_json
from penstock.client.errors import PartitionNotFound
from penstock.client.sending import NewRecord, Produced


@click.command()
@click.argument("topic")
@click.option(
    "--key-separator",
    metavar="TEXT",
    help="What stands before it in a line is the key, what follows is the value.",
)
@click.option(
    "--header", "headers", multiple=True, metavar="NAME=VALUE", callback=assignments,
    help="A header for every record. May be repeated.",
)  # fmt: skip
@click.option("--null-marker", metavar="TEXT", help="A key or value that is this text is sent as null.")
@click.option("--partition", type=click.IntRange(min=0), help="[default: by the key's hash]")
@click.option(
    "--compression",
    type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
    default="none",
    show_default=True,
    help="Codec of the record batches.",
)
@client_options
def produce(
    topic: str,
    key_separator: str | None,
    headers: dict[str, str],
    null_marker: str | None,
    partition: int | None,
    compression: str,
    access: Access,
    as_json: bool,
) -> None:
    """Write each line of standard input to TOPIC as a record.

    The command ends when every record is acknowledged by all replicas. With --json it prints where each is.
    """
    if partition is not None:
        _check_partition(topic, partition, access)
    messages = access.messages()
    parse = LineParser(key_separator, headers, null_marker, partition)
    interactive = sys.stdin.isatty()
    began = time.monotonic()
    with messages.sender(compression_type=compression) as sender:
        for line in read_lines(sys.stdin.buffer):
            sender.send(topic, parse(line), print_produced if as_json else None)
            if interactive:
                sender.flush()
    if not as_json:
        took = time.monotonic() - began
        click.echo(f"{sender.delivered} records written to {topic} in {took:.1f} s", err=True)


class LineParser:
    """Turns a line into a record, by the rules that the options gave."""

    def __init__(
        self,
        key_separator: str | None,
        headers: dict[str, str],
        null_marker: str | None,
        partition: int | None,
    ) -> None:
        self._separator = key_separator.encode() if key_separator else None
        self._headers = tuple((name, value.encode()) for name, value in headers.items())
        self._null = None if null_marker is None else null_marker.encode()
        self._partition = partition
        self._number = 0

    def __call__(self, line: bytes) -> NewRecord:
        self._number += 1
        key, value = None, line
        if self._separator is not None:
            key, found, value = line.partition(self._separator)
            if not found:
                text = self._separator.decode()
                raise click.ClickException(f"Line {self._number} has no key: {text!r} is not in it.")
        return NewRecord(self._or_null(value), self._or_null(key), self._headers, self._partition)

    def _or_null(self, text: bytes | None) -> bytes | None:
        return None if text == self._null else text


def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines without their end, be it Unix's or Windows'."""
    for line in stream:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def print_produced(produced: Produced) -> None:
    """Where a record is."""
    print_json(
        {
            "topic": produced.topic,
            "partition": produced.partition,
            "offset": produced.offset,
            "timestamp": produced.timestamp_ms,
        }
    )


def _check_partition(topic: str, partition: int, access: Access) -> None:
    partitions = len(access.admin().topic(topic).partitions)
    if partition >= partitions:
        raise PartitionNotFound(topic, partition, partitions)
