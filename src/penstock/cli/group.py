"""`penstock group list|describe|reset-offsets|delete`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.cli.targets import read_target, target_options
from penstock.client.errors import ClientError, GroupNotFound
from penstock.client.groups import Groups
from penstock.client.metadata import GroupInfo, PartitionLag


class GroupHasMembers(ClientError):
    """A group whose members must stop first."""

    code = "group_has_members"


@click.group()
def group() -> None:
    """List and describe consumer groups, see how far they are behind, move them and delete them."""


@group.command("list")
@client_options
def list_groups(access: Access, as_json: bool) -> None:
    """List the consumer groups with their state and their members."""
    found = Groups(access.admin()).describe_all()
    if as_json:
        for each in found:
            print_json(_summary(each))
        return
    rows = [(each.group_id, each.state, each.kind, len(each.members), each.coordinator) for each in found]
    print_table("Groups", ("Group", "State", "Protocol", "Members", "Coordinator"), rows)


@group.command()
@click.argument("group_id")
@client_options
def describe(group_id: str, access: Access, as_json: bool) -> None:
    """Show the members of a group, what they have, and how far each partition is behind."""
    groups = Groups(access.admin())
    found, lags = groups.lags(group_id)
    lags = groups.with_times(lags)
    now_ms = time.time() * 1000
    if as_json:
        members = [asdict(member) for member in found.members]
        partitions = [
            {
                "topic": lag.topic,
                "partition": lag.partition,
                "committed_offset": lag.committed_offset,
                "end_offset": lag.end_offset,
                "lag": lag.lag,
                "lag_seconds": lag_seconds(lag, now_ms),
                "member_id": None if lag.member is None else lag.member.member_id,
            }
            for lag in lags
        ]
        print_json({**_summary(found), "members": members, "partitions": partitions})
        return
    click.echo(
        f"{group_id}: {found.state}, {found.kind} protocol, assignor {found.assignor or '-'}, "
        f"{len(found.members)} members, {_behind(lags, now_ms)}"
    )
    rows = [
        (
            lag.topic,
            lag.partition,
            lag.committed_offset,
            lag.end_offset,
            lag.lag,
            _seconds(lag_seconds(lag, now_ms)),
            lag.member and lag.member.member_id,
        )
        for lag in lags
    ]
    print_table("Partitions", ("Topic", "Partition", "Committed", "End", "Lag", "Lag s", "Member"), rows)
    if found.members:
        told = [(m.member_id, m.instance_id, m.client_id, m.host, len(m.partitions)) for m in found.members]
        print_table("Members", ("Member", "Instance", "Client", "Host", "Partitions"), told)


@group.command("reset-offsets")
@click.argument("group_id")
@click.option("--topic", "topics", multiple=True, help="May be repeated. [default: all that it committed]")
@target_options
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask on a terminal.")
@client_options
def reset_offsets(
    group_id: str,
    topics: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    access: Access,
    as_json: bool,
    **where: Any,
) -> None:
    """Move a group without members to other offsets: it goes on there.

    What will change is shown first; on a terminal the command asks before it does it.
    """
    target = read_target(**where)
    groups = Groups(access.admin())
    try:
        members = groups.describe(group_id).members
    except GroupNotFound:
        if not topics:  # a new group begins where it is told, if it is told of what
            raise
        members = ()
    if members:
        raise GroupHasMembers(f"Group {group_id!r} has {len(members)} members. Stop them first.")
    committed = groups.committed(group_id)
    offsets = groups.offsets_for(topics or sorted({topic for topic, _ in committed}), target, committed)
    rows = [
        (topic, index, committed.get((topic, index)), offset)
        for (topic, index), offset in sorted(offsets.items())
    ]
    if not as_json:
        moved = [(*row, None if row[2] is None else row[2] - row[3]) for row in rows]
        print_table("Offsets", ("Topic", "Partition", "Now", "New", "Read again"), moved)
    if not dry_run:
        if sys.stdout.isatty() and not yes and not as_json:
            click.confirm(f"Move group {group_id} to these offsets?", abort=True)
        groups.set_offsets(group_id, offsets)
    if as_json:
        for topic, index, before, offset in rows:
            print_json(
                {"topic": topic, "partition": index, "before": before, "offset": offset, "dry_run": dry_run}
            )


@group.command()
@click.argument("group_id")
@client_options
def delete(group_id: str, access: Access, as_json: bool) -> None:
    """Forget a group without members, and its offsets."""
    Groups(access.admin()).delete(group_id)
    if as_json:
        print_json({"group_id": group_id, "deleted": True})
    else:
        click.echo(f"{group_id} deleted")


def lag_seconds(lag: PartitionLag, now_ms: float) -> float | None:
    """How long the first record has waited that was not read; 0 when nothing lags, None when unknown."""
    if not lag.lag:
        return 0.0
    return None if lag.first_unread_ms is None else max(0.0, round((now_ms - lag.first_unread_ms) / 1000, 1))


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:g}"


def _behind(lags: Sequence[PartitionLag], now_ms: float) -> str:
    records = sum(lag.lag for lag in lags)
    known = [seconds for lag in lags if (seconds := lag_seconds(lag, now_ms)) is not None]
    return f"{records} records behind" + (f", {max(known):g} s" if records and known else "")


def _summary(found: GroupInfo) -> dict[str, Any]:
    return {
        "group_id": found.group_id,
        "state": found.state,
        "protocol": found.kind,
        "assignor": found.assignor,
        "coordinator": found.coordinator,
        "members": len(found.members),
    }
