"""`penstock registry`: the Schema Registry in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import arguments_of_worker, service_address, service_options, worker_options
from penstock.settings.sources import read_properties


@click.command()
@service_options("127.0.0.1:8081", "under the names of Confluent's registry")
@worker_options
@log_level_option
def registry(
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
    workers: int,
    worker: str | None,
) -> None:
    """Run the Schema Registry.

    A line `ready HOST:PORT` on standard output says that clients may connect. Schemas are kept in the topic
    _schemas.
    """
    log_to_stderr(log_level)
    from penstock.client.direct import client_settings
    from penstock.client.errors import ClientError
    from penstock.registry.main import run
    from penstock.registry.settings import read_settings
    from penstock.web.door import Door
    from penstock.web.door_settings import take_door_settings
    from penstock.web.workers import end_with_starter, run_workers

    texts = {**(read_properties(config) if config else {}), **overrides}
    kept, left = take_door_settings(texts)
    settings = read_settings(bootstrap_servers, left)
    door = Door(kept, settings.bootstrap_servers, client_settings(settings.client))
    host, port = service_address(listen, kept)
    try:
        if workers > 1:
            command = arguments_of_worker("registry", bootstrap_servers, config, overrides, log_level)
            if not run_workers(command, workers, host, port, door.print_ready):
                raise click.ClickException("A worker did not start.")
            return
        if worker is not None:
            end_with_starter()
        run(host, port, settings, door, shared=worker is not None)
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from error
    except ClientError as error:
        raise click.ClickException(str(error)) from error
