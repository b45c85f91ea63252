"""`penstock console`: the web console in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

from importlib.util import find_spec

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, assignments, bootstrap_servers_option, service_address
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
    help="Settings of the console's door and of its Kafka client, as a properties file.",
)  # fmt: skip
@click.option(
    "--set", "overrides", multiple=True, metavar="NAME=VALUE", callback=assignments,
    help="A setting of the console's Kafka client; beats the file. May be repeated.",
)  # fmt: skip
@click.option(
    "--registry-url", default="http://127.0.0.1:8081", show_default=True, help="The Schema Registry."
)
@click.option("--connect-url", default="http://127.0.0.1:8083", show_default=True, help="Connect.")
@click.option("--sql-url", default="http://127.0.0.1:8088", show_default=True, help="The SQL server.")
@click.option(
    "--metrics-url", "metrics_urls", multiple=True, metavar="URL",
    help="Where a broker publishes its metrics, as http://HOST:PORT/metrics. May be repeated.",
)  # fmt: skip
@click.option(
    "--pipeline-metrics-url", "pipeline_urls", multiple=True, metavar="URL",
    help="Where a process that runs pipelines publishes its metrics; the SQL server and Connect are known. "
    "May be repeated.",
)  # fmt: skip
@click.option(
    "--mirror-url", "mirror_urls", multiple=True, metavar="URL", default=("http://127.0.0.1:8084",),
    show_default=True, help="A mirror between clusters. May be repeated.",
)  # fmt: skip
@click.option(
    "--smtp-server", callback=address, metavar="HOST:PORT", help="Takes e-mail of alerts; none without it."
)
@click.option("--mail-from", default="penstock@localhost", show_default=True, help="Sender of that e-mail.")
@log_level_option
def console(
    listen: tuple[str, int],
    bootstrap_servers: str,
    allowed_hosts: tuple[str, ...],
    config: str | None,
    overrides: dict[str, str],
    registry_url: str,
    connect_url: str,
    sql_url: str,
    metrics_urls: tuple[str, ...],
    pipeline_urls: tuple[str, ...],
    mirror_urls: tuple[str, ...],
    smtp_server: tuple[str, int] | None,
    mail_from: str,
    log_level: str,
) -> None:
    """Run the web console.

    A line `ready http://HOST:PORT` on standard output says that it can be opened in a browser.
    """
    if find_spec("nicegui") is None:
        raise click.ClickException("The console is not installed. Install penstock with its extra [console].")
    log_to_stderr(log_level)
    from penstock.client.direct import client_settings
    from penstock.web.door import Door
    from penstock.web.door_settings import take_door_settings

    texts = {**(read_properties(config) if config else {}), **overrides}
    kept, left = take_door_settings(texts, is_shared=True)
    prefixed = {name: text for name, text in left.items() if name.startswith("client.")}
    if prefixed.keys() - {"client.id"}:  # then the others are the door's alone
        left = {name.removeprefix("client."): text for name, text in prefixed.items()}
    from penstock.console.app import run
    from penstock.console.notifying import Mail
    from penstock.console.remotes import Addresses

    mail = Mail(*smtp_server, mail_from) if smtp_server is not None else Mail()
    host, port = service_address(listen, kept)
    door = Door(kept, bootstrap_servers, client_settings(left))
    try:
        run(
            host, port, bootstrap_servers, allowed_hosts=allowed_hosts, client_settings=left, mail=mail,
            addresses=Addresses(
                registry_url, connect_url, sql_url, metrics_urls, pipeline_urls, mirror_urls
            ), door=door,
        )  # fmt: skip
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from error
