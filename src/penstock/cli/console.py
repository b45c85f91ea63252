"""`penstock console`: the web console in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

from importlib.util import find_spec

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, assignments, bootstrap_servers_option
from penstock.settings.sources import read_properties


@click.command()
@click.option(
    "--listen", callback=address, default="127.0.0.1:9021", show_default=True, metavar="HOST:PORT",
    help="Address of the console; port 0 picks a free one.",
)  # fmt: skip
@bootstrap_servers_option
@click.option(
    "--allow-host", "allowed_hosts", multiple=True, metavar="NAME",
    help="A name under which browsers may ask for the console, besides its address. May be repeated.",
)  # fmt: skip
@click.option(
    "--config", type=click.Path(exists=True, dir_okay=False, readable=True), metavar="FILE",
    help="Settings of the console's Kafka client, as a properties file.",
)  # fmt: skip
@click.option(
    "--set", "overrides", multiple=True, metavar="NAME=VALUE", callback=assignments,
    help="A setting of the console's Kafka client; beats the file. May be repeated.",
)  # fmt: skip
@log_level_option
def console(
    listen: tuple[str, int],
    bootstrap_servers: str,
    allowed_hosts: tuple[str, ...],
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
) -> None:
    """Run the web console.

    A line `ready http://HOST:PORT` on standard output says that it can be opened in a browser.
    """
    if find_spec("nicegui") is None:
        raise click.ClickException("The console is not installed. Install penstock with its extra [console].")
    log_to_stderr(log_level)
    client_settings = {**(read_properties(config) if config else {}), **overrides}
    from penstock.console.app import run

    host, port = listen
    try:
        run(host, port, bootstrap_servers, allowed_hosts=allowed_hosts, client_settings=client_settings)
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from error
