"""`penstock rest`: the REST Proxy in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import service_address, service_options
from penstock.settings.listeners import format_address
from penstock.settings.sources import read_properties


@click.command()
@service_options("127.0.0.1:8082", "such as Confluent's kafka-rest.properties")
@log_level_option
def rest(
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
) -> None:
    """Run the REST Proxy: Kafka over HTTP, with Confluent's paths.

    A line `ready HOST:PORT` on standard output says that clients may connect.
    """
    log_to_stderr(log_level)
    from penstock.rest.config import RestSettings
    from penstock.web.door_settings import take_door_settings

    texts = {**(read_properties(config) if config else {}), **overrides}
    kept, left = take_door_settings(texts)
    bootstrap_servers = left.pop("bootstrap.servers", bootstrap_servers)
    settings = RestSettings.from_texts(left)
    from penstock.client.direct import client_settings
    from penstock.rest.main import run
    from penstock.web.door import Door

    host, port = service_address(listen, kept)
    door = Door(kept, bootstrap_servers, client_settings(settings.client))
    try:
        run(host, port, bootstrap_servers, settings, door)
    except OSError as error:
        why = error.strerror or str(error)
        raise click.ClickException(f"Cannot listen on {format_address(host, port)}: {why}.") from error
