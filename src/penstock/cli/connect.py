"""`penstock connect`: a worker of Connect in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import service_address, service_options
from penstock.settings.listeners import format_address
from penstock.settings.sources import read_properties


@click.command()
@service_options("127.0.0.1:8083", "such as Kafka's connect-distributed.properties")
@log_level_option
def connect(
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
) -> None:
    """Run a worker of Connect: connectors as Spark jobs, with Kafka Connect's REST API.

    A line `ready HOST:PORT` on standard output says that clients may connect. Workers with the same group.id
    share their connectors: one drives them, and another takes over when it is gone.
    """
    log_to_stderr(log_level)
    given = {**(read_properties(config) if config else {}), **overrides}
    start({"bootstrap.servers": bootstrap_servers, **given}, (), listen=listen)


def start(
    texts: Mapping[str, str],
    connectors: tuple[str, ...],
    *,
    listen: tuple[str, int] | None = None,
    distributed: bool = True,
) -> None:
    """Runs a worker; what is wrong becomes a sentence."""
    from penstock.client.errors import ClientError
    from penstock.connect.errors import ConnectError
    from penstock.connect.main import read_connector_file, run
    from penstock.connect.worker.settings import read_settings
    from penstock.web.door import Door
    from penstock.web.door_settings import take_door_settings

    kept, left = take_door_settings(texts, is_shared=True)
    where = listen if kept.listen is None or listen is None else service_address(listen, kept)
    where = kept.listen if where is None else where
    listeners = {} if where is None else {"listeners": f"http://{format_address(*where)}"}
    settings = read_settings({**left, **listeners}, distributed=distributed)
    door = Door(kept, settings.client.bootstrap_servers, settings.client)
    try:
        run(settings, [read_connector_file(path) for path in connectors], door)
    except OSError as error:
        address = format_address(*settings.listen)
        raise click.ClickException(f"Cannot listen on {address}: {error.strerror or error}.") from error
    except (ClientError, ConnectError) as error:
        raise click.ClickException(str(error)) from error
