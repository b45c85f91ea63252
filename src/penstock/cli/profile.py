"""`penstock profile list|create|use|show|delete`: names for clusters, so that no command needs an address."""

from __future__ import annotations

import click

from penstock.cli import profiles
from penstock.cli.options import assignments
from penstock.cli.output import print_json, print_table
from penstock.settings.sources import read_properties

SECRETS = ("password", "jaas", "user.info", "token", "secret")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")


@click.group()
def profile() -> None:
    """Name clusters, and choose the one that commands go to."""


@profile.command("list")
@json_option
def list_profiles(as_json: bool) -> None:
    """List the profiles, with the one in use."""
    used = profiles.current()
    rows = [
        (name, profiles.properties(name).get("bootstrap.servers"), name == used) for name in profiles.names()
    ]
    if as_json:
        for name, servers, in_use in rows:
            print_json({"name": name, "bootstrap_servers": servers, "in_use": in_use})
        return
    shown = [(name, servers, "yes" if in_use else "") for name, servers, in_use in rows]
    print_table("Profiles", ("Profile", "Brokers", "In use"), shown)


@profile.command()
@click.argument("name")
@click.option("--bootstrap-servers", "--bootstrap-server", "servers", metavar="HOST:PORT,…")
@click.option("--registry", metavar="URL", help="Address of the Schema Registry.")
@click.option(
    "--command-config", "config", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help="Settings of the client to copy: security.protocol, sasl.jaas.config, …",
)  # fmt: skip
@click.option(
    "--set", "extra", multiple=True, metavar="NAME=VALUE", callback=assignments,
    help="A setting of the client. May be repeated.",
)  # fmt: skip
@json_option
def create(
    name: str,
    servers: str | None,
    registry: str | None,
    config: str | None,
    extra: dict[str, str],
    as_json: bool,
) -> None:
    """Write a profile, or write it anew. `penstock profile use NAME` then uses it."""
    settings = read_properties(config) if config else {}
    settings |= extra
    if servers:
        settings["bootstrap.servers"] = servers
    if registry:
        settings["schema.registry.url"] = registry
    if "bootstrap.servers" not in settings:
        raise click.UsageError("Give the address of a broker: --bootstrap-servers HOST:PORT.")
    path = profiles.create(name, settings)
    if as_json:
        print_json({"name": name, "path": str(path)})
    else:
        click.echo(f"{name} is in {path}")


@profile.command()
@click.argument("name", required=False)
@click.option("--none", "no_profile", is_flag=True, help="No profile: commands go to 127.0.0.1:9092 again.")
def use(name: str | None, no_profile: bool) -> None:
    """Let all commands go to the cluster of a profile."""
    if (name is None) != no_profile:
        raise click.UsageError("Name a profile, or give --none.")
    profiles.use(name)
    click.echo(f"commands go to {profiles.bootstrap_servers()}" + (f" ({name})" if name else ""))


@profile.command()
@click.argument("name", required=False)
@json_option
def show(name: str | None, as_json: bool) -> None:
    """Show a profile, by default the one in use; secrets are not shown."""
    chosen = name or profiles.current()
    if chosen is None:
        raise click.ClickException("No profile is in use. `penstock profile list` shows those there are.")
    settings = {key: _shown(key, value) for key, value in sorted(profiles.properties(chosen).items())}
    if as_json:
        print_json({"name": chosen, "settings": settings})
        return
    print_table(f"Profile {chosen}", ("Setting", "Value"), list(settings.items()))


@profile.command()
@click.argument("name")
def delete(name: str) -> None:
    """Forget a profile."""
    profiles.delete(name)
    click.echo(f"{name} deleted")


def _shown(name: str, value: str) -> str:
    return "[hidden]" if any(word in name.lower() for word in SECRETS) else value
