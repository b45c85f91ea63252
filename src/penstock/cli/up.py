"""`penstock up`: the whole platform in the foreground, until Ctrl-C."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from penstock.cli.options import address, config_option, set_option
from penstock.cli.up_secure import ServiceFiles, secured
from penstock.platform.next_steps import next_steps
from penstock.platform.preflight import check_before_start
from penstock.platform.process import Service
from penstock.platform.securing import how_to_connect
from penstock.platform.services import (
    as_url,
    broker_service,
    check_port_free,
    connect_service,
    console_service,
    metrics_address,
    registry_service,
    rest_service,
    script_service,
    sql_service,
)
from penstock.platform.supervisor import ServiceFailed, Stopped, Supervisor


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),  # a file in its place is named by the checks before the start
    default=Path("penstock-data"),
    show_default=True,
    metavar="DIR",
    help="Where everything is kept: logs of topics, of services, and what scripts keep.",
)
@click.option(
    "--listen", callback=address, default="127.0.0.1:9092", show_default=True, metavar="HOST:PORT",
    help="Address of the broker.",
)  # fmt: skip
@click.option(
    "--registry-listen", callback=address, default="127.0.0.1:8081", show_default=True, metavar="HOST:PORT",
    help="Address of the Schema Registry.",
)  # fmt: skip
@click.option(
    "--rest-listen", callback=address, default="127.0.0.1:8082", show_default=True, metavar="HOST:PORT",
    help="Address of the REST Proxy.",
)  # fmt: skip
@click.option(
    "--connect-listen", callback=address, default="127.0.0.1:8083", show_default=True, metavar="HOST:PORT",
    help="Address of Connect.",
)  # fmt: skip
@click.option(
    "--sql-listen", callback=address, default="127.0.0.1:8088", show_default=True, metavar="HOST:PORT",
    help="Address of the SQL server.",
)  # fmt: skip
@click.option(
    "--console-listen", callback=address, default="127.0.0.1:9021", show_default=True, metavar="HOST:PORT",
    help="Address of the console.",
)  # fmt: skip
@click.option(
    "--run", "scripts", multiple=True, metavar="SCRIPT",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A Python script to start as well, with --bootstrap-servers and --data. May be repeated.",
)  # fmt: skip
@click.option(
    "--hints/--no-hints", default=None, help="Say what to do next when all is up. [default: on a terminal]"
)
@click.option(
    "--secure", is_flag=True,
    help="TLS, passwords and access control everywhere, with a local authority and a user `admin`.",
)  # fmt: skip
@config_option
@set_option
def up(
    data: Path,
    listen: tuple[str, int],
    registry_listen: tuple[str, int],
    rest_listen: tuple[str, int],
    connect_listen: tuple[str, int],
    sql_listen: tuple[str, int],
    console_listen: tuple[str, int],
    scripts: tuple[Path, ...],
    hints: bool | None,
    secure: bool,
    config: str | None,
    overrides: dict[str, str],
) -> None:
    """Run all services and your scripts, until Ctrl-C or SIGTERM stops them in reverse order.

    Starting again with the same --data goes on where it stopped. What the services say is in DIR/logs.

    A service that dies is started again, after a delay that doubles. After five deaths within ten minutes it
    is given up: the platform goes on without it, or ends when it is the broker.
    """
    try:
        check_port_free(listen, "--listen")
        check_port_free(registry_listen, "--registry-listen")
        check_port_free(rest_listen, "--rest-listen")
        check_port_free(connect_listen, "--connect-listen")
        check_port_free(sql_listen, "--sql-listen")
        check_port_free(console_listen, "--console-listen")
        all_listen = (listen, registry_listen, rest_listen, connect_listen, sql_listen, console_listen)
        kit = secured(data, listen, [each[0] for each in all_listen], config) if secure else None
        check_before_start(data, os.environ, _warn, needs_spark=bool(scripts))
        with Supervisor(data / "logs", click.echo) as supervisor:
            broker_config, protocol = (config, "PLAINTEXT") if kit is None else (kit.broker, "SASL_SSL")
            metrics = metrics_address(listen, overrides, config, secure=secure)
            settings = {**overrides, "metrics.listener": metrics} if metrics else overrides
            servers = supervisor.start(broker_service(listen, data, broker_config, settings, protocol))
            files = kit.files(servers) if kit is not None else ServiceFiles()

            def started(service: Service) -> str:
                return as_url(supervisor.start(service))

            urls = {"registry": started(registry_service(registry_listen, servers, files.registry))}
            registry = urls["registry"]
            urls["rest"] = started(rest_service(rest_listen, servers, registry, files.rest))
            urls["connect"] = started(connect_service(connect_listen, servers, data, files.connect))
            sql = sql_service(sql_listen, servers, data, registry, urls["connect"], files.sql)
            urls["sql"] = started(sql)
            shown = {**urls, "metrics": f"http://{metrics}/metrics" if metrics else ""}
            urls["console"] = started(console_service(console_listen, servers, files.console, shown))
            for script in scripts:
                supervisor.start(script_service(script, servers, data, files.client))
            if kit is not None:
                click.echo(how_to_connect(kit.folder, servers, urls))
            elif sys.stdout.isatty() if hints is None else hints:
                names = [script.stem for script in scripts]
                click.echo(next_steps(servers, urls["sql"], urls["console"], names))
            supervisor.watch()
    except Stopped:
        return
    except ServiceFailed as failure:
        raise click.ClickException(str(failure)) from failure


def _warn(sentence: str) -> None:
    click.echo(sentence, err=True)
