"""`penstock quota list|set|unset`: bounds on what users, clients and addresses may do in a second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.kafka.asking import Asker
from penstock.cli.kafka.config_options import Entities
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.quota_configs import CLIENT_QUOTAS, IP_QUOTAS, alter_quotas, found_quotas
from penstock.cli.options import Command, assignments, client_options
from penstock.cli.output import print_json, print_table
from penstock.client.errors import ClientError

DEFAULT = ""
SIDES = ("user", "client", "ip")


def entity_options(command: Command) -> Command:
    for name in reversed(SIDES):
        command = click.option(f"--default-{name}", is_flag=True, help=f"Each {name} without a quota.")(
            command
        )
        command = click.option(f"--{name}", metavar="NAME", help=f"One {name}.")(command)
    return command


@click.group()
def quota() -> None:
    """List, set and unset quotas; a client beyond its quota is slowed down, never refused."""


@quota.command("list")
@client_options
def list_quotas(access: Access, as_json: bool) -> None:
    """List all quotas."""
    asker = Asker(access.bootstrap_servers, access.settings)
    rows = []
    for kinds in (["users"], ["clients"], ["users", "clients"], ["ips"]):
        for entity, values in _spoken(partial(found_quotas, asker, Entities(kinds, []))):
            rows += [(_shown(entity), name, value) for name, value in values.items()]
    if as_json:
        for owner, name, value in sorted(rows):
            print_json({"of": owner, "quota": name, "value": value})
        return
    print_table("Quotas", ("Of", "Quota", "Value"), sorted(rows))


@quota.command("set")
@click.argument("values", nargs=-1, required=True, metavar="QUOTA=VALUE…", callback=assignments)
@entity_options
@client_options
def set_quota(values: dict[str, str], access: Access, as_json: bool, **whom: Any) -> None:
    """Set quotas: producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate; for
    an --ip connection_creation_rate."""
    entities = _entities(whom)
    _check(entities, values)
    asker = Asker(access.bootstrap_servers, access.settings)
    _spoken(lambda: alter_quotas(asker, entities, values, []))
    _say(entities, [f"{name} = {value}" for name, value in values.items()], as_json)


@quota.command()
@click.argument("names", nargs=-1, required=True, metavar="QUOTA…")
@entity_options
@client_options
def unset(names: tuple[str, ...], access: Access, as_json: bool, **whom: Any) -> None:
    """Take quotas away."""
    entities = _entities(whom)
    _check(entities, names)
    asker = Asker(access.bootstrap_servers, access.settings)
    _spoken(lambda: alter_quotas(asker, entities, {}, list(names)))
    _say(entities, [f"{name} unset" for name in names], as_json)


def _entities(whom: dict[str, Any]) -> Entities:
    kinds, names = [], []
    for side in SIDES:
        if whom[side] is not None and whom[f"default_{side}"]:
            raise click.UsageError(f"Give --{side} or --default-{side}, not both.")
        if whom[side] is not None or whom[f"default_{side}"]:
            kinds.append(f"{side}s")
            names.append(whom[side] or DEFAULT)
    if not kinds:
        raise click.UsageError(
            "Say whose quota: --user NAME, --client NAME, both, --ip ADDRESS, or a default."
        )
    if "ips" in kinds and len(kinds) > 1:
        raise click.UsageError("--ip stands alone.")
    return Entities(kinds, names)


def _check(entities: Entities, names: Any) -> None:
    known = IP_QUOTAS if "ips" in entities.kinds else CLIENT_QUOTAS
    wrong = [name for name in names if name not in known]
    if wrong:
        raise click.UsageError(f"{wrong[0]!r} is no quota here; there are {', '.join(known)}.")


def _shown(entity: dict[str, str | None]) -> str:
    names = {"user": "user", "client-id": "client", "ip": "ip"}
    return ", ".join(
        f"{names[kind]} {'(default)' if name is None else name}"
        for kind, name in sorted(entity.items(), reverse=True)
    )


def _say(entities: Entities, done: list[str], as_json: bool) -> None:
    whom = ", ".join(f"{kind[:-1]} {name or '(default)'}" for kind, name in zip(*entities, strict=True))
    for each in done:
        if as_json:
            print_json({"of": whom, "done": each})
        else:
            click.echo(f"{whom}: {each}")


def _spoken(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except CommandFailed as error:
        raise ClientError(str(error)) from error
