"""`penstock registry`: the Schema Registry in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, assignments, bootstrap_servers_option
from penstock.settings.sources import read_properties


@click.command()
@click.option(
    "--listen", callback=address, default="127.0.0.1:8081", show_default=True, metavar="HOST:PORT",
    help="Address of the registry; port 0 picks a free one.",
)  # fmt: skip
@bootstrap_servers_option
@click.option(
    "--config", type=click.Path(exists=True, dir_okay=False, readable=True), metavar="FILE",
    help="Settings as a properties file, under the names of Confluent's registry.",
)  # fmt: skip
@click.option(
    "--set", "overrides", multiple=True, metavar="NAME=VALUE", callback=assignments,
    help="A setting of the registry; beats the file. May be repeated.",
)  # fmt: skip
@log_level_option
def registry(
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
) -> None:
    """Run the Schema Registry.

    A line `ready HOST:PORT` on standard output says that clients may connect. Schemas are kept in the topic
    _schemas.
    """
    log_to_stderr(log_level)
    from penstock.registry.main import run
    from penstock.registry.settings import read_settings
    from penstock.web.errors import HttpError

    settings = read_settings(bootstrap_servers, {**(read_properties(config) if config else {}), **overrides})
    try:
        run(*listen, settings)
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from error
    except HttpError as error:
        raise click.ClickException(error.message) from error
