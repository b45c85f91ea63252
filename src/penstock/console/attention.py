"""What needs attention now, each with a link to where it is mended. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from penstock.console.cluster_values import Disks
from penstock.console.group_stats import AllGroups
from penstock.console.overview import Overview
from penstock.console.wording import counted

FULL_PERCENT = 85
LAG_SECONDS = 60
SHOWN_MAX = 20


class Concern(NamedTuple):
    severity: str
    """`bad` when data is at risk or cannot be reached, else `warn`."""
    sentence: str
    href: str


def concerns(overview: Overview | None, groups: AllGroups | None, disks: Disks | None) -> list[Concern]:
    found = [*_partitions(overview), *_disks(disks), *_groups(groups)]
    return sorted(found, key=lambda each: each.severity != "bad")[:SHOWN_MAX]


def _partitions(overview: Overview | None) -> Iterator[Concern]:
    if overview is None:
        return
    alive = {broker.node_id for broker in overview.snapshot.cluster.brokers}
    for topic in overview.snapshot.topics:
        page = f"/topics/{quote(topic.name, safe='')}/partitions"
        offline = sum(p.leader is None for p in topic.partitions)
        behind = sum(p.leader is not None and len(p.isr) < len(p.replicas) for p in topic.partitions)
        if offline:
            partitions = counted(offline, "partition")
            yield Concern(
                "bad", f"{topic.name}: {partitions} without a leader, neither read nor written", page
            )
        elif behind:
            partitions = counted(behind, "partition")
            yield Concern("warn", f"{topic.name}: {partitions} with fewer copies than asked for", page)
    missing = {r for topic in overview.snapshot.topics for p in topic.partitions for r in p.replicas} - alive
    for broker in sorted(missing):
        yield Concern("bad", f"Broker {broker} holds replicas and is not there", "/brokers")


def _disks(disks: Disks | None) -> Iterator[Concern]:
    for each in disks.directories if disks else ():
        if each.error:
            yield Concern("bad", f"Broker {each.broker}: {each.path} is offline", "/brokers")
        elif (full := each.full_percent) is not None and full >= FULL_PERCENT:
            yield Concern(
                "warn", f"Broker {each.broker}: the disk of {each.path} is {full:.0f} % full", "/brokers"
            )


def _groups(groups: AllGroups | None) -> Iterator[Concern]:
    for group in groups.groups if groups else ():
        behind, name = group.behind, group.info.group_id
        if behind is None or behind.seconds < LAG_SECONDS or not group.lag:
            continue
        page = f"/groups/{quote(name, safe='')}"
        if not group.info.members:
            yield Concern(
                "warn", f"Group {name} has no members and {counted(group.lag, 'record')} to read", page
            )
        else:
            yield Concern("warn", f"Group {name} is {counted(group.lag, 'record')} behind", page)
