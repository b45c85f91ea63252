"""`penstock migrate plan|start|status|cut-over`: an existing Kafka cluster moved to Penstock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.mirror import print_partitions
from penstock.cli.options import address
from penstock.cli.output import print_json
from penstock.settings.sources import read_properties

if TYPE_CHECKING:
    from penstock.mirror.migrating import CutOver

_file_option = click.option(
    "--config",
    "config",
    required=True,
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    metavar="FILE",
    help="The file that `penstock migrate plan` wrote.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_client_file = click.Path(exists=True, dir_okay=False, readable=True)


@click.group()
def migrate() -> None:
    """Move topics, schemas, groups and ACLs of an existing cluster to another one."""


@migrate.command("plan")
@click.option("--from", "source", required=True, metavar="HOST:PORT,…", help="The cluster that is left.")
@click.option("--to", "target", required=True, metavar="HOST:PORT,…", help="The cluster that is moved to.")
@click.option("--from-config", type=_client_file, metavar="FILE", help="Settings of a client of the source.")
@click.option("--to-config", type=_client_file, metavar="FILE", help="Settings of a client of the target.")
@click.option("--topics", default="", help="Which topics; regular expressions with commas. [default: all]")
@click.option("--groups", default="", help="Which groups. [default: all but those of consoles and Connect]")
@click.option(
    "--config",
    "config",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file to write: the other steps take it.",
)
@_json_option
def make_plan(
    source: str,
    target: str,
    from_config: str | None,
    to_config: str | None,
    topics: str,
    groups: str,
    config: Path,
    as_json: bool,
) -> None:
    """Look at both clusters, say what would be moved and what is in the way, and write FILE."""
    from penstock.mirror.inspecting import sides
    from penstock.mirror.migrating import plan, read_file, write_file

    clients = [
        {**(read_properties(path) if path else {}), "bootstrap.servers": servers}
        for path, servers in ((from_config, source), (to_config, target))
    ]
    write_file(config, *clients, topics=topics, groups=groups)
    flow = read_file(read_properties(str(config)))
    with sides(flow) as (one, other):
        found = plan(flow, one, other)
    if as_json:
        print_json(found._asdict())
        return
    counted = f"{len(found.topics)} topics with {sum(found.topics.values())} partitions"
    click.echo(f"{counted}, {len(found.groups)} groups, {found.acls} ACLs")
    for remark in found.remarks:
        click.echo(remark)
    for name in found.conflicts:
        click.echo(
            f"In the way: topic {name} is on the target already. Delete it, or leave it out with --topics."
        )
    click.echo(f"Written: {config}. Next: penstock migrate start --config {config}")


@migrate.command("start")
@_file_option
@click.option(
    "--listen",
    callback=address,
    default="127.0.0.1:8084",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of /flows and /metrics; port 0 picks a free one.",
)
@log_level_option
def start_migration(config: Path, listen: tuple[str, int], log_level: str) -> None:
    """Mirror everything under the same names until SIGTERM or Ctrl-C; leave it running until the cut-over."""
    log_to_stderr(log_level)
    from penstock.mirror.inspecting import sides
    from penstock.mirror.migrating import move_acls, plan, read_file
    from penstock.mirror.service import run
    from penstock.mirror.settings import MirrorSettings

    texts = read_properties(str(config))
    flow = read_file(texts)
    with sides(flow) as (one, other):
        if conflicts := plan(flow, one, other).conflicts:
            names = ", ".join(conflicts)
            raise click.ClickException(f"Topics of the same name are on the target already: {names}.")
        move_acls(one, other)
    try:
        run(MirrorSettings(texts), listen)
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from error


@migrate.command("status")
@_file_option
@_json_option
def show_migration(config: Path, as_json: bool) -> None:
    """Show how far the copy is."""
    from penstock.mirror.inspecting import sides, status
    from penstock.mirror.migrating import read_file

    flow = read_file(read_properties(str(config)))
    with sides(flow) as (one, other):
        found = status(flow, one, other)
    if as_json:
        print_json(found.shown())
        return
    print_partitions(found)
    click.echo("The source does not answer" if found.lag is None else f"{found.lag} records behind")


@migrate.command("cut-over")
@_file_option
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--dry-run", is_flag=True, help="Only compare both sides.")
@_json_option
def cut_over_migration(config: Path, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Compare both sides record by record, and let the groups go on at the target.

    Stop producers and consumers of the source first. Nothing is done while something is still written there,
    a group has members there, or a partition differs.
    """
    from penstock.mirror.inspecting import sides
    from penstock.mirror.migrating import cut_over, look, read_file

    flow = read_file(read_properties(str(config)))
    with sides(flow) as (one, other):
        found = look(flow, one, other)
        _print_comparison(found, as_json)
        if found.obstacles:
            raise click.ClickException("Clients cannot move yet:\n  " + "\n  ".join(found.obstacles[:20]))
        if dry_run:
            return
        if not yes:
            click.confirm(
                "Both sides agree. Commit the offsets of all groups on the target?", abort=True, err=True
            )
        groups = cut_over(flow, one, other)
    click.echo(
        f"{len(groups)} groups go on at the target. Stop the migration and start clients there.", err=as_json
    )


def _print_comparison(found: CutOver, as_json: bool) -> None:
    if as_json:
        rows = [each._asdict() for each in found.differences]
        print_json({"obstacles": found.obstacles, "partitions": rows})
        return
    records = sum(each.source_records for each in found.differences)
    same = sum(each.same for each in found.differences)
    click.echo(f"{same} of {len(found.differences)} partitions agree, {records} records on the source")
