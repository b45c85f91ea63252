"""`penstock topic list|create|describe|delete|add-partitions`."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.options import assignments, client_options
from penstock.cli.output import print_json, print_table
from penstock.client.errors import TopicExists, TopicNotFound
from penstock.client.metadata import ConfigEntry, PartitionInfo, TopicInfo


@click.group()
def topic() -> None:
    """List, create, describe, delete and grow topics."""


@topic.command("list")
@click.option("--internal", is_flag=True, help="Topics of the platform itself as well.")
@client_options
def list_topics(internal: bool, access: Access, as_json: bool) -> None:
    """List the topics with their partitions and records."""
    found = access.admin().topics()
    shown = [info for info in found if internal or not info.internal]
    if as_json:
        for info in shown:
            print_json(_summary(info))
        return
    rows = [(info.name, len(info.partitions), info.replication_factor, info.records) for info in shown]
    print_table("Topics", ("Topic", "Partitions", "Replicas", "Records"), rows)


@topic.command()
@click.argument("name")
@click.option("--partitions", type=click.IntRange(min=1), help="[default: the broker's num.partitions]")
@click.option("--replication-factor", type=click.IntRange(min=1), help="[default: the broker's]")
@click.option(
    "--config", "configs", multiple=True, metavar="NAME=VALUE", callback=assignments,
    help="A topic setting under Kafka's name, such as retention.ms=3600000. May be repeated.",
)  # fmt: skip
@click.option("--if-not-exists", is_flag=True, help="Leave a topic of that name as it is.")
@client_options
def create(
    name: str,
    partitions: int | None,
    replication_factor: int | None,
    configs: dict[str, str],
    if_not_exists: bool,
    access: Access,
    as_json: bool,
) -> None:
    """Create a topic."""
    created = True
    try:
        access.admin().create_topic(name, partitions, replication_factor, configs)
    except TopicExists:
        if not if_not_exists:
            raise
        created = False
    _report(
        {"name": name, "created": created}, f"{name} {'created' if created else 'exists already'}", as_json
    )


@topic.command()
@click.argument("name")
@click.option("--all-settings", is_flag=True, help="Settings that have their default value as well.")
@client_options
def describe(name: str, all_settings: bool, access: Access, as_json: bool) -> None:
    """Show the partitions and settings of a topic."""
    detail = access.admin().topic_detail(name)
    settings = [entry for entry in detail.configs if all_settings or not entry.is_default]
    if as_json:
        partitions = [_partition(partition) for partition in detail.info.partitions]
        values = {entry.name: entry.value for entry in settings}
        print_json({**_summary(detail.info), "partition_list": partitions, "settings": values})
        return
    columns = ("Partition", "Leader", "Replicas", "In sync", "First offset", "End offset")
    print_table(f"Topic {name}", columns, [_partition_row(partition) for partition in detail.info.partitions])
    if settings:
        print_table("Settings", ("Setting", "Value", "From"), [_setting_row(entry) for entry in settings])


@topic.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--if-exists", is_flag=True, help="Do not complain of a topic that is not there.")
@client_options
def delete(names: tuple[str, ...], if_exists: bool, access: Access, as_json: bool) -> None:
    """Delete topics with all their records."""
    admin = access.admin()
    for name in names:
        deleted = True
        try:
            admin.delete_topic(name)
        except TopicNotFound:
            if not if_exists:
                raise
            deleted = False
        _report(
            {"name": name, "deleted": deleted}, f"{name} {'deleted' if deleted else 'is not there'}", as_json
        )


@topic.command("add-partitions")
@click.argument("name")
@click.option(
    "--partitions", "total", type=click.IntRange(min=1), required=True, help="How many there will be."
)
@client_options
def add_partitions(name: str, total: int, access: Access, as_json: bool) -> None:
    """Grow a topic to a number of partitions; what is written stays where it is."""
    access.admin().add_partitions(name, total)
    _report({"name": name, "partitions": total}, f"{name} has {total} partitions", as_json)


def _report(done: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(done)
    else:
        click.echo(sentence)


def _summary(info: TopicInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "partitions": len(info.partitions),
        "replication_factor": info.replication_factor,
        "records": info.records,
        "internal": info.internal,
    }


def _partition(partition: PartitionInfo) -> dict[str, Any]:
    return {
        "partition": partition.index,
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "log_start_offset": partition.log_start_offset,
        "high_watermark": partition.high_watermark,
    }


def _partition_row(partition: PartitionInfo) -> tuple[Any, ...]:
    replicas, isr = (",".join(map(str, nodes)) for nodes in (partition.replicas, partition.isr))
    return (
        partition.index,
        partition.leader,
        replicas,
        isr,
        partition.log_start_offset,
        partition.high_watermark,
    )


def _setting_row(entry: ConfigEntry) -> tuple[Any, ...]:
    return (entry.name, entry.value, entry.source.removesuffix("_CONFIG").replace("_", " ").lower())
