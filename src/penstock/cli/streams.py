"""`penstock streams describe|reset`."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.cli.targets import read_target, target_options
from penstock.streams.resetting import ApplicationInfo


@click.group()
def streams() -> None:
    """Describe an application of Streams, and reset it to begin anew."""


@streams.command()
@click.option("--application-id", required=True)
@client_options
def describe(application_id: str, access: Access, as_json: bool) -> None:
    """Show how far an application is, whether it runs, and its internal topics."""
    found = access.applications().describe(application_id)
    if as_json:
        print_json(_fields(found))
        return
    click.echo(
        f"{application_id}: {found.running or 'nothing says that it runs'}, {found.lag} records behind"
    )
    rows = [(*at, offset, found.ends.get(at)) for at, offset in sorted(found.committed.items())]
    print_table("Input", ("Topic", "Partition", "Committed", "End"), rows)
    topics = [(topic.name, len(topic.partitions), topic.records) for topic in found.internal_topics]
    print_table("Internal topics", ("Topic", "Partitions", "Records"), topics)


@streams.command()
@click.option("--application-id", required=True)
@click.option(
    "--input-topics", multiple=True, metavar="TOPIC[,TOPIC]…",
    help="Whose offsets are reset. May be repeated. [default: all that the application has committed]",
)  # fmt: skip
@target_options
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--force", is_flag=True, help="Fence an application that runs, instead of refusing.")
@client_options
def reset(
    application_id: str,
    input_topics: tuple[str, ...],
    dry_run: bool,
    force: bool,
    access: Access,
    as_json: bool,
    **where: Any,
) -> None:
    """Let an application begin anew: its offsets are reset, its internal topics deleted.

    Results that it has written stay, and so do local state directories, which it does not trust any more.
    """
    topics = [name for given in input_topics for name in given.split(",") if name]
    applications = access.applications()
    done = applications.reset(application_id, read_target(**where), topics, force=force, dry_run=dry_run)
    if as_json:
        offsets = [{"topic": t, "partition": p, "offset": o} for (t, p), o in sorted(done.offsets.items())]
        deleted = list(done.deleted_topics)
        print_json({"offsets": offsets, "deleted_topics": deleted, "dry_run": dry_run})
        return
    rows = [(*at, offset) for at, offset in sorted(done.offsets.items())]
    print_table("Offsets", ("Topic", "Partition", "Offset"), rows)
    for name in done.deleted_topics:
        click.echo(f"{name} {'would be deleted' if dry_run else 'deleted'}")


def _fields(found: ApplicationInfo) -> dict[str, Any]:
    return {
        "application_id": found.application_id,
        "running": found.running is not None,
        "members": [member.member_id for member in found.members],
        "transaction": found.transaction,
        "lag": found.lag,
        "input": [
            {
                "topic": topic,
                "partition": partition,
                "committed": offset,
                "end": found.ends.get((topic, partition)),
            }
            for (topic, partition), offset in sorted(found.committed.items())
        ],
        "internal_topics": [
            {"name": topic.name, "partitions": len(topic.partitions), "records": topic.records}
            for topic in found.internal_topics
        ],
    }
