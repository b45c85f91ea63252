"""`penstock rest`: the REST Proxy in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import arguments_of_worker, service_address, service_options, worker_options
from penstock.settings.listeners import format_address
from penstock.settings.sources import read_properties


@click.command()
@service_options("127.0.0.1:8082", "such as Confluent's kafka-rest.properties")
@worker_options
@log_level_option
def rest(
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
    workers: int,
    worker: str | None,
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
    from penstock.web.workers import Worker, end_with_starter, run_workers

    host, port = service_address(listen, kept)
    door = Door(kept, bootstrap_servers, client_settings(settings.client))
    try:
        if workers > 1:
            if kept.tls is not None and kept.tls.client_auth == "required":
                raise click.ClickException(
                    "Workers pass requests on to each other, and cannot show the certificate of a client. "
                    "Use --workers 1, or ssl.client.authentication=REQUESTED or NONE."
                )
            command = arguments_of_worker("rest", bootstrap_servers, config, overrides, log_level)
            if not run_workers(command, workers, host, port, door.print_ready):
                raise click.ClickException("A worker did not start.")
            return
        if worker is not None:
            end_with_starter()
        own = None if worker is None else Worker.parse(worker)
        run(host, port, bootstrap_servers, settings, door, own)
    except OSError as error:
        why = error.strerror or str(error)
        raise click.ClickException(f"Cannot listen on {format_address(host, port)}: {why}.") from error
