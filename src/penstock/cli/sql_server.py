"""`penstock sql`: the SQL server in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import click

from penstock.cli.ksql.command import shell
from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import service_address, service_options
from penstock.settings.listeners import format_address
from penstock.settings.sources import read_properties


@click.group(invoke_without_command=True)
@service_options("127.0.0.1:8088", "such as ksqlDB's ksql-server.properties")
@click.option(
    "--queries-file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Statements to execute at the first start, without a person (headless mode).",
)
@log_level_option
@click.pass_context
def sql(
    context: click.Context,
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: str | None,
    overrides: dict[str, str],
    queries_file: str | None,
    log_level: str,
) -> None:
    """Run the SQL server: ksqlDB's language and REST API, with persistent queries on Spark.

    A line `ready HOST:PORT` on standard output says that clients may connect. Statements are kept in the
    command topic, and queries go on after a restart.
    """
    if context.invoked_subcommand is not None:
        return
    log_to_stderr(log_level)
    from penstock.sqlserver.errors import KsqlError
    from penstock.sqlserver.main import run
    from penstock.sqlserver.settings import read_settings

    texts = {**(read_properties(config) if config else {}), **overrides}
    if queries_file is not None:
        texts["ksql.queries.file"] = queries_file
    from penstock.client.direct import client_settings
    from penstock.web.door import Door
    from penstock.web.door_settings import take_door_settings
    from penstock.web.tls import HTTP_2

    kept, left = take_door_settings(texts, is_shared=True)
    settings = read_settings(bootstrap_servers, left)
    host, port = service_address(listen, kept)
    door = Door(kept, settings.bootstrap_servers, client_settings(settings.client), HTTP_2)
    try:
        run(host, port, settings, door)
    except OSError as error:
        why = error.strerror or str(error)
        raise click.ClickException(f"Cannot listen on {format_address(host, port)}: {why}.") from error
    except KsqlError as error:
        raise click.ClickException(error.message) from error


sql.add_command(shell)
