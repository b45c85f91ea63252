"""`penstock console`: the web console in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

from importlib.util import find_spec

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, bootstrap_servers_option


@click.command()
@click.option(
    "--listen", callback=address, default="127.0.0.1:9021", show_default=True, metavar="HOST:PORT",
    help="Address of the console; port 0 picks a free one.",
)  # fmt: skip
@bootstrap_servers_option
@log_level_option
def console(listen: tuple[str, int], bootstrap_servers: str, log_level: str) -> None:
    """Run the web console.

    A line `ready http://HOST:PORT` on standard output says that it can be opened in a browser.
    """
    if find_spec("nicegui") is None:
        raise click.ClickException("The console is not installed. Install penstock with its extra [console].")
    log_to_stderr(log_level)
    from penstock.console.app import run

    run(listen, bootstrap_servers, lambda where: click.echo(f"ready {where}"))
