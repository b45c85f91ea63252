"""`penstock cluster describe`: who is there, who leads what, and which partitions want care."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import click

from penstock.cli.access import Access
from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.client.metadata import TopicInfo


class Health(NamedTuple):
    """How partitions are spread, and those that lack something, as `topic-partition`."""

    leading: Counter[int]
    holding: Counter[int]
    leaderless: list[str]
    under_replicated: list[str]


@click.group()
def cluster() -> None:
    """Show the brokers of a cluster and how its partitions are."""


@cluster.command()
@client_options
def describe(access: Access, as_json: bool) -> None:
    """Show the brokers, how many partitions each leads and holds, and which are not whole."""
    info, topics = access.admin().describe()
    health = health_of(topics)
    brokers = [
        (each.node_id, f"{each.host}:{each.port}", health.leading[each.node_id], health.holding[each.node_id])
        for each in info.brokers
    ]
    if as_json:
        keys = ("id", "address", "leads", "holds")
        print_json(
            {
                "cluster_id": info.cluster_id,
                "controller": info.controller_id,
                "brokers": [dict(zip(keys, row, strict=True)) for row in brokers],
                "topics": info.topics,
                "partitions": info.partitions,
                "leaderless": health.leaderless,
                "under_replicated": health.under_replicated,
            }
        )
        return
    click.echo(
        f"cluster {info.cluster_id}, controller {info.controller_id}, {info.topics} topics, "
        f"{info.partitions} partitions"
    )
    print_table("Brokers", ("Broker", "Address", "Leads", "Holds"), brokers, heads=True)
    for name, places in (
        ("without a leader", health.leaderless),
        ("under-replicated", health.under_replicated),
    ):
        if places:
            click.echo(f"{name}: {', '.join(places)}")


def health_of(topics: Iterable[TopicInfo]) -> Health:
    health = Health(Counter(), Counter(), [], [])
    for topic in topics:
        for partition in topic.partitions:
            place = f"{topic.name}-{partition.index}"
            health.holding.update(partition.replicas)
            if partition.leader is None:
                health.leaderless.append(place)
            else:
                health.leading[partition.leader] += 1
            if len(partition.isr) < len(partition.replicas):
                health.under_replicated.append(place)
    return health
