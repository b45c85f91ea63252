"""`penstock user create|list|password|delete`: users with passwords (SCRAM)."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli.access import Access
from penstock.cli.options import Command, client_options
from penstock.cli.output import print_json, print_table
from penstock.cli.passwords import new_password, password_options
from penstock.client.users import DEFAULT_ITERATIONS, DEFAULT_MECHANISMS, UserNotFound, Users

MECHANISMS = click.Choice(["SCRAM-SHA-256", "SCRAM-SHA-512"], case_sensitive=False)


def credential_options(command: Command) -> Command:
    for option in (
        click.option(
            "--iterations", type=click.IntRange(4096, 16384), default=DEFAULT_ITERATIONS, show_default=True,
            help="How often the password is hashed.",
        ),
        click.option(
            "--mechanism", "mechanisms", type=MECHANISMS, multiple=True, default=DEFAULT_MECHANISMS,
            show_default=True, help="May be repeated.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group()
def user() -> None:
    """Create, list and delete users, and change their passwords."""


@user.command()
@click.argument("name")
@password_options
@credential_options
@client_options
def create(
    name: str,
    password_file: Path | None,
    generate: bool,
    mechanisms: tuple[str, ...],
    iterations: int,
    access: Access,
    as_json: bool,
) -> None:
    """Create a user. What the user may do is said by `penstock acl grant`."""
    users = Users(access.admin())
    password = new_password(password_file, generate=generate)
    users.create(name, password, mechanisms, iterations)
    _report(name, "created", password if generate else None, as_json)


@user.command()
@click.argument("name")
@password_options
@credential_options
@client_options
def password(
    name: str,
    password_file: Path | None,
    generate: bool,
    mechanisms: tuple[str, ...],
    iterations: int,
    access: Access,
    as_json: bool,
) -> None:
    """Change a user's password. Open connections stay open until they must prove themselves again."""
    users = Users(access.admin())
    if users.find(name) is None:
        raise UserNotFound(name)
    new = new_password(password_file, generate=generate)
    users.set_password(name, new, mechanisms, iterations)
    _report(name, "has a new password", new if generate else None, as_json)


@user.command("list")
@client_options
def list_users(access: Access, as_json: bool) -> None:
    """List the users with their mechanisms."""
    found = Users(access.admin()).listed()
    if as_json:
        for each in found:
            print_json({"name": each.name, "mechanisms": dict(each.iterations)})
        return
    rows = [
        (each.name, ", ".join(f"{name} ({count})" for name, count in sorted(each.iterations.items())))
        for each in found
    ]
    print_table("Users", ("User", "Mechanisms (iterations)"), rows)


@user.command()
@click.argument("name")
@client_options
def delete(name: str, access: Access, as_json: bool) -> None:
    """Delete a user. Access control entries that name the user stay."""
    Users(access.admin()).delete(name)
    _report(name, "deleted", None, as_json)


def _report(name: str, what: str, password: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "done": what, **({"password": password} if password else {})})
        return
    click.echo(f"{name} {what}")
    if password:
        click.echo(f"password: {password}")
