"""`penstock config show|set|unset`: settings of topics, of brokers and of all brokers together."""

from __future__ import annotations

import click

from penstock.cli.access import Access
from penstock.cli.options import assignments, client_options
from penstock.cli.output import print_json, print_table
from penstock.client.configs import Alteration, Configs, Owner
from penstock.client.errors import InvalidValue


@click.group()
def config() -> None:
    """Show, set and unset settings of topics, brokers and the cluster.

    OWNER is `topic:NAME`, `broker:ID` or `cluster`, which is every broker.
    """


@config.command()
@click.argument("owner")
@click.option("--all", "everything", is_flag=True, help="Settings that have their default value as well.")
@client_options
def show(owner: str, everything: bool, access: Access, as_json: bool) -> None:
    """Show the settings of OWNER that somebody has set."""
    entries = Configs(access.admin()).describe(owner_of(owner))
    chosen = [entry for entry in entries if everything or not entry.is_default]
    rows = [
        (entry.name, entry.value, entry.source.removesuffix("_CONFIG").replace("_", " ").lower())
        for entry in chosen
    ]
    if as_json:
        for name, value, source in rows:
            print_json({"name": name, "value": value, "from": source})
        return
    print_table(f"Settings of {owner}", ("Setting", "Value", "From"), rows)


@config.command("set")
@click.argument("owner")
@click.argument("settings", nargs=-1, required=True, metavar="NAME=VALUE…", callback=assignments)
@click.option("--dry-run", is_flag=True, help="Only say whether the broker would take it.")
@client_options
def set_settings(owner: str, settings: dict[str, str], dry_run: bool, access: Access, as_json: bool) -> None:
    """Set settings of OWNER; those that are not named stay."""
    changes = [Alteration(name, value) for name, value in settings.items()]
    Configs(access.admin()).alter(owner_of(owner), changes, validate_only=dry_run)
    for name, value in settings.items():
        _say(owner, name, value, dry_run, as_json)


@config.command()
@click.argument("owner")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@client_options
def unset(owner: str, names: tuple[str, ...], access: Access, as_json: bool) -> None:
    """Take settings of OWNER back to their defaults."""
    changes = [Alteration(name, None, "DELETE") for name in names]
    Configs(access.admin()).alter(owner_of(owner), changes)
    for name in names:
        _say(owner, name, None, False, as_json)


def owner_of(text: str) -> Owner:
    kind, _, name = text.partition(":")
    if kind == "cluster" and not name:
        return Owner.cluster()
    if kind == "topic" and name:
        return Owner.topic(name)
    if kind == "broker" and name.isdecimal():
        return Owner.broker(int(name))
    raise InvalidValue(f"{text!r} has no settings. Write topic:NAME, broker:ID or cluster.")


def _say(owner: str, name: str, value: str | None, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({"owner": owner, "name": name, "value": value, "dry_run": dry_run})
    else:
        done = "back to its default" if value is None else f"= {value}"
        click.echo(f"{owner}: {name} {done}{' (not done: --dry-run)' if dry_run else ''}")
