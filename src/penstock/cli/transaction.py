"""`penstock transaction list|describe|find-hanging|abort`."""

from __future__ import annotations

import time
from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.client.errors import ClientError
from penstock.client.transactions import (
    OpenTransaction,
    TransactionDetail,
    Transactions,
)
from penstock.protocol.topic_partition import TopicPartition

MINUTE_MS = 60_000


@click.group()
def transaction() -> None:
    """List and describe transactions; find those that hang, and abort them."""


@transaction.command("list")
@click.option("--state", "states", multiple=True, help="Only those in this state, such as Ongoing.")
@click.option("--producer-id", "producer_ids", type=int, multiple=True, help="Only this producer's.")
@click.option(
    "--longer-than", "longer_than_ms", type=int, default=-1, metavar="MS", help="Open for longer than this."
)
@client_options
def list_transactions(
    states: tuple[str, ...],
    producer_ids: tuple[int, ...],
    longer_than_ms: int,
    access: Access,
    as_json: bool,
) -> None:
    """List the transactional ids and their states."""
    client = access.transactions()
    found = client.listed(states=states, producer_ids=producer_ids, longer_than_ms=longer_than_ms)
    if as_json:
        for listing in found:
            print_json(listing._asdict())
        return
    print_table("Transactions", ("Transactional id", "Coordinator", "Producer id", "State"), found)


@transaction.command()
@click.argument("transactional_id")
@client_options
def describe(transactional_id: str, access: Access, as_json: bool) -> None:
    """Show the transaction of a transactional id and its partitions."""
    found = access.transactions().describe(transactional_id)
    if as_json:
        print_json({**found._asdict(), "partitions": [list(place) for place in found.partitions]})
        return
    print_table("Transaction", ("Field", "Value"), _fields(found))


@transaction.command("find-hanging")
@click.option("--topic", help="Only in this topic. [default: all]")
@click.option("--partition", type=click.IntRange(min=0), help="Only in this partition of the topic.")
@click.option(
    "--max-transaction-timeout", "minutes", type=click.FloatRange(min=0), default=15, show_default=True,
    metavar="MINUTES", help="What was written to later than this may still be alive.",
)  # fmt: skip
@client_options
def find_hanging(
    topic: str | None,
    partition: int | None,
    minutes: float,
    access: Access,
    as_json: bool,
) -> None:
    """Find transactions that are open in a partition and unknown to any coordinator: readers of committed
    records wait for them for ever."""
    client = access.transactions()
    places = _places(client, topic, partition)
    found = client.hanging(places, older_than_ms=round(minutes * MINUTE_MS))
    if as_json:
        for each in found:
            print_json(_open_fields(each))
        return
    columns = ("Topic", "Partition", "Producer id", "Epoch", "Coordinator epoch", "Start offset", "Minutes")
    print_table("Hanging transactions", columns, [_open_row(each) for each in found])


@transaction.command()
@click.option("--topic", required=True)
@click.option("--partition", type=click.IntRange(min=0), required=True)
@click.option("--start-offset", type=click.IntRange(min=0), required=True, help="Where it begins.")
@client_options
def abort(topic: str, partition: int, start_offset: int, access: Access, as_json: bool) -> None:
    """Abort a transaction in one partition, without asking its coordinator: for one that hangs."""
    client = access.transactions()
    place = TopicPartition(topic, partition)
    found = [each for each in client.open_in([place]) if each.start_offset == start_offset]
    if not found:
        raise ClientError(f"No transaction that begins at offset {start_offset} is open in {place}.")
    client.abort(found[0])
    if as_json:
        print_json({**_open_fields(found[0]), "aborted": True})
    else:
        click.echo(f"the transaction of producer {found[0].producer_id} in {place} is aborted")


def _places(client: Transactions, topic: str | None, partition: int | None) -> list[TopicPartition]:
    if partition is not None and topic is None:
        raise click.UsageError("--partition needs --topic.")
    places = client.partitions(topic)
    return [place for place in places if partition is None or place.partition == partition]


def _fields(found: TransactionDetail) -> list[tuple[str, Any]]:
    open_ms = None if found.start_ms is None else round(time.time() * 1000) - found.start_ms
    return [
        ("Transactional id", found.transactional_id),
        ("Coordinator", found.coordinator),
        ("Producer id", found.producer_id),
        ("Producer epoch", found.producer_epoch),
        ("State", found.state),
        ("Timeout (ms)", found.timeout_ms),
        ("Begun (ms ago)", open_ms),
        ("Partitions", ", ".join(map(str, found.partitions)) or None),
    ]


def _open_fields(each: OpenTransaction) -> dict[str, Any]:
    topic, partition = each.partition
    return {**each._asdict(), "topic": topic, "partition": partition}


def _open_row(each: OpenTransaction) -> tuple[Any, ...]:
    minutes = (time.time() * 1000 - each.last_timestamp_ms) / MINUTE_MS
    return (
        *each.partition,
        each.producer_id,
        each.producer_epoch,
        each.coordinator_epoch,
        each.start_offset,
        round(minutes),
    )
