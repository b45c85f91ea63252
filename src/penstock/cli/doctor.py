"""`penstock doctor`: looks for what is wrong, and says what to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import click

from penstock.cli import profiles
from penstock.cli.access import Access
from penstock.cli.options import client_options
from penstock.cli.output import print_json
from penstock.platform.doctor import cluster, data, machine
from penstock.platform.doctor.findings import Finding, Level

COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}


@click.command()
@click.option(
    "--data", "folder", type=click.Path(path_type=Path), default=Path("penstock-data"), show_default=True,
    metavar="DIR", help="The data folder to look at.",
)  # fmt: skip
@click.option("--service", "services", multiple=True, metavar="URL", help="A service whose clock to compare.")
@click.option("--no-cluster", is_flag=True, help="Look at this machine only.")
@client_options
def doctor(folder: Path, services: tuple[str, ...], no_cluster: bool, access: Access, as_json: bool) -> int:
    """Look at this machine, its data and the way to the cluster; name each problem and its fix.

    Exit code 1 when there is a problem. Warnings are not problems.
    """
    found = [
        machine.check_python(),
        *machine.check_libraries(),
        machine.check_java(os.environ),
        machine.check_memory(),
        *data.check_data(folder),
    ]
    if no_cluster:
        found += machine.check_ports()
    else:
        found += _cluster(access, services)
    for finding in found:
        _show(finding, as_json)
    problems = sum(finding.level is Level.PROBLEM for finding in found)
    if not as_json:
        click.echo(f"\n{problems} problems" if problems else "\nNo problems")
    return 1 if problems else 0


def _cluster(access: Access, services: tuple[str, ...]) -> list[Finding]:
    found = cluster.check_cluster(access.bootstrap_servers, access.properties, access.admin)
    local = access.bootstrap_servers == profiles.DEFAULT_SERVERS
    if local:
        found += machine.check_ports()
    if all(not finding.fix for finding in found):
        found.append(_spoken(lambda: _versions(access)))
    found += [cluster.check_clock(url, time.time()) for url in services]
    return found


def _versions(access: Access) -> Finding:
    return cluster.check_versions(cluster.newest_versions(access.bootstrap_servers, access.settings))


def _spoken(check: Callable[[], Finding]) -> Finding:
    from penstock.platform.doctor.findings import problem
    from penstock.wire.errors import WireError

    try:
        return check()
    except WireError as error:
        return problem("versions", f"{error}.", "Look at the broker's log.")


def _show(finding: Finding, as_json: bool) -> None:
    if as_json:
        print_json({**finding._asdict(), "level": finding.level.value})
        return
    mark = click.style(f"{finding.level.value:<8}", fg=COLOURS[finding.level])
    click.echo(f"{mark} {finding.check}: {finding.what}")
    if finding.fix:
        click.echo(f"         → {finding.fix}")
