"""The commands of `ksql-migrations`, with the names and options that ksqlDB documents."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click

from penstock.cli.ksql.access import server_at
from penstock.cli.ksql.migrations import metadata as m
from penstock.cli.ksql.migrations import project as p
from penstock.cli.ksql.migrations.applying import Applier
from penstock.cli.ksql.requests import Server
from penstock.cli.ksql.tables import table


@click.group()
@click.option("-c", "--config-file", type=click.Path(dir_okay=False, path_type=Path),
              help="The settings of the project, ksql-migrations.properties.")  # fmt: skip
@click.pass_context
def migrations(context: click.Context, config_file: Path | None) -> None:
    """Bring the streams, tables and queries of a SQL server from version to version."""
    context.obj = config_file


@migrations.command("new-project")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("url")
def new_project(path: Path, url: str) -> None:
    """Make a folder for a project, with its settings."""
    p.new_project(path, url)
    click.echo(f"Migrations project directory created successfully: {path}")


def _project(context: click.Context) -> p.Project:
    if context.obj is None:
        raise click.UsageError("Migrations config file required but not specified. Use -c FILE.")
    if not context.obj.is_file():
        raise click.ClickException(f"There is no file {context.obj}: ksql-migrations new-project makes one.")
    return p.Project(context.obj)


def _opened(context: click.Context) -> tuple[p.Project, Server, m.Metadata]:
    project = _project(context)
    given = project.settings
    user, password = given.get("ksql.auth.basic.username"), given.get("ksql.auth.basic.password", "")
    server = server_at(project.url, user, password, given)
    return project, server, m.Metadata(server, project)


@migrations.command("initialize-metadata")
@click.pass_context
def initialize(context: click.Context) -> None:
    """Make the stream and the table in which the server keeps its versions."""
    _opened(context)[2].initialize()
    click.echo("Migrations metadata initialized successfully")


@migrations.command("destroy-metadata")
@click.pass_context
def destroy(context: click.Context) -> None:
    """Delete them with their topics. This cannot be undone."""
    _opened(context)[2].destroy()
    click.echo("Migrations metadata cleaned successfully")


@migrations.command()
@click.argument("description")
@click.option("-v", "--version", type=click.IntRange(1, p.HIGHEST), help="The version [default: the next].")
@click.pass_context
def create(context: click.Context, description: str, version: int | None) -> None:
    """Make an empty file for the next version."""
    path = _project(context).create(description, version)
    click.echo(f"Created file: {path}")


@migrations.command()
@click.option("-a", "--all", "everything", is_flag=True, help="All that wait.")
@click.option("-n", "--next", "one", is_flag=True, help="The next one.")
@click.option("-u", "--until", type=int, help="All up to this version.")
@click.option("-v", "--version", type=int, help="Only this version.")
@click.option("-d", "--define", "variables", multiple=True, metavar="NAME=VALUE", help="A variable.")
@click.option("--dry-run", is_flag=True, help="Show the statements and execute none.")
@click.pass_context
def apply(
    context: click.Context,
    everything: bool,
    one: bool,
    until: int | None,
    version: int | None,
    variables: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Apply migrations, the oldest first."""
    if sum((everything, one, until is not None, version is not None)) != 1:
        raise click.UsageError("Say which ones: exactly one of --all, --next, --until and --version.")
    project, server, metadata = _opened(context)
    events = metadata.events()
    _check_unchanged(project, events)
    done = m.last_migrated(events)
    waiting = [each for each in project.migrations() if each.version > done]
    if one:
        waiting = waiting[:1]
    elif until is not None:
        waiting = [each for each in waiting if each.version <= until]
    elif version is not None:
        waiting = [each for each in waiting if each.version == version]
        if not waiting:
            raise click.ClickException(f"Version {version} is applied already, or has no file.")
    click.echo(f"Loaded {len(waiting)} migration{'' if len(waiting) == 1 else 's'}")
    given = dict(each.split("=", 1) for each in variables if "=" in each)
    applier = Applier(server, metadata, given, dry_run)
    for each in waiting:
        applier.apply(each, done)
        done = each.version


def _check_unchanged(project: p.Project, events: dict[str, m.Event]) -> None:
    """What was applied must be what the files say."""
    files = {str(each.version): each for each in project.migrations()}
    for version, event in events.items():
        if version == m.CURRENT or event.state != m.MIGRATED:
            continue
        if version not in files:
            raise click.ClickException(
                f"No migrations file found for version with status MIGRATED. Version: {version}"
            )
        if files[version].checksum != event.checksum:
            raise click.ClickException(
                f"Migrations file found for version {version} does not match the checksum saved for this "
                f"version: {files[version].path.name} was changed after it was applied."
            )


@migrations.command()
@click.pass_context
def validate(context: click.Context) -> None:
    """Compare the applied versions with the files."""
    project, _, metadata = _opened(context)
    _check_unchanged(project, metadata.events())
    click.echo("Successfully validated checksums for migrations that have already been applied")


@migrations.command()
@click.pass_context
def info(context: click.Context) -> None:
    """Show the version of the server, and every migration with its state."""
    project, _, metadata = _opened(context)
    events = metadata.events()
    click.echo(f"Current migration version: {m.last_migrated(events) or 'None'}")
    rows = []
    for each in project.migrations():
        found = events.get(str(each.version), m.Event(str(each.version), previous=m.NOT_AVAILABLE))
        times = [_time(found.started_on), _time(found.completed_on)]
        rows.append([each.version, each.name, found.state, found.previous, *times, found.error_reason])
    titles = ["Version", "Name", "State", "Previous Version", "Started On", "Completed On", "Error Reason"]
    click.echo(table(titles, rows) if rows else "No migrations files found")


def _time(millis: str) -> str:
    if not millis.isdecimal():
        return m.NOT_AVAILABLE
    return f"{datetime.fromtimestamp(int(millis) / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"


@migrations.command("help")
@click.argument("name", required=False)
@click.pass_context
def help_command(context: click.Context, name: str | None) -> None:
    """Show this text, or that of a command."""
    parent = context.parent
    assert parent is not None
    command = migrations.get_command(parent, name) if name else None
    if name and command is None:
        raise click.UsageError(f"There is no command {name}.")
    click.echo(parent.get_help() if command is None else command.get_help(context))


def main() -> NoReturn:
    """What `ksql-migrations` calls."""
    migrations.main(prog_name="ksql-migrations")
    sys.exit(0)
