"""`penstock group list|describe|reset-offsets|delete`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.cli.targets import read_target, target_options
from penstock.client.admin import Admin
from penstock.client.errors import ClientError, GroupNotFound
from penstock.client.groups import Groups
from penstock.client.metadata import GroupInfo


class GroupHasMembers(ClientError):
    """A group whose members must stop first."""

    code = "group_has_members"


@click.group()
def group() -> None:
    """List and describe consumer groups, see how far they are behind, move them and delete them."""


@group.command("list")
@client_options
def list_groups(bootstrap_servers: str, timeout_s: float, as_json: bool) -> None:
    """List the consumer groups with their state and their members."""
    found = _groups(bootstrap_servers, timeout_s).describe_all()
    if as_json:
        for each in found:
            print_json(_summary(each))
        return
    rows = [(each.group_id, each.state, each.kind, len(each.members), each.coordinator) for each in found]
    print_table("Groups", ("Group", "State", "Protocol", "Members", "Coordinator"), rows)


@group.command()
@click.argument("group_id")
@client_options
def describe(group_id: str, bootstrap_servers: str, timeout_s: float, as_json: bool) -> None:
    """Show the members of a group, what they have, and how far each partition is behind."""
    found, lags = _groups(bootstrap_servers, timeout_s).lags(group_id)
    if as_json:
        members = [asdict(member) for member in found.members]
        partitions = [
            {
                "topic": lag.topic,
                "partition": lag.partition,
                "committed_offset": lag.committed_offset,
                "end_offset": lag.end_offset,
                "lag": lag.lag,
                "member_id": None if lag.member is None else lag.member.member_id,
            }
            for lag in lags
        ]
        print_json({**_summary(found), "members": members, "partitions": partitions})
        return
    click.echo(
        f"{group_id}: {found.state}, {found.kind} protocol, assignor {found.assignor or '-'}, "
        f"{len(found.members)} members, {sum(lag.lag for lag in lags)} records behind"
    )
    rows = [
        (
            lag.topic,
            lag.partition,
            lag.committed_offset,
            lag.end_offset,
            lag.lag,
            lag.member and lag.member.member_id,
        )
        for lag in lags
    ]
    print_table("Partitions", ("Topic", "Partition", "Committed", "End", "Lag", "Member"), rows)
    if found.members:
        told = [(m.member_id, m.instance_id, m.client_id, m.host, len(m.partitions)) for m in found.members]
        print_table("Members", ("Member", "Instance", "Client", "Host", "Partitions"), told)


@group.command("reset-offsets")
@click.argument("group_id")
@click.option("--topic", "topics", multiple=True, help="May be repeated. [default: all that it committed]")
@target_options
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@client_options
def reset_offsets(
    group_id: str,
    topics: tuple[str, ...],
    dry_run: bool,
    bootstrap_servers: str,
    timeout_s: float,
    as_json: bool,
    **where: Any,
) -> None:
    """Move a group without members to other offsets: it goes on there."""
    target = read_target(**where)
    groups = _groups(bootstrap_servers, timeout_s)
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
    if not dry_run:
        groups.set_offsets(group_id, offsets)
    rows = [(topic, index, offset) for (topic, index), offset in sorted(offsets.items())]
    if as_json:
        for topic, index, offset in rows:
            print_json({"topic": topic, "partition": index, "offset": offset, "dry_run": dry_run})
        return
    print_table("Offsets", ("Topic", "Partition", "Offset"), rows)


@group.command()
@click.argument("group_id")
@client_options
def delete(group_id: str, bootstrap_servers: str, timeout_s: float, as_json: bool) -> None:
    """Forget a group without members, and its offsets."""
    _groups(bootstrap_servers, timeout_s).delete(group_id)
    if as_json:
        print_json({"group_id": group_id, "deleted": True})
    else:
        click.echo(f"{group_id} deleted")


def _groups(bootstrap_servers: str, timeout_s: float) -> Groups:
    return Groups(Admin(bootstrap_servers, timeout_s=timeout_s))


def _summary(found: GroupInfo) -> dict[str, Any]:
    return {
        "group_id": found.group_id,
        "state": found.state,
        "protocol": found.kind,
        "assignor": found.assignor,
        "coordinator": found.coordinator,
        "members": len(found.members),
    }
