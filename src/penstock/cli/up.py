"""`penstock up`: the whole platform in the foreground, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli.options import address, config_option, set_option
from penstock.platform.services import (
    broker_service,
    check_port_free,
    console_service,
    registry_service,
    rest_service,
    script_service,
)
from penstock.platform.supervisor import ServiceFailed, Stopped, Supervisor


@click.command()
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
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
    "--console-listen", callback=address, default="127.0.0.1:9021", show_default=True, metavar="HOST:PORT",
    help="Address of the console.",
)  # fmt: skip
@click.option(
    "--run", "scripts", multiple=True, metavar="SCRIPT",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A Python script to start as well, with --bootstrap-servers and --data. May be repeated.",
)  # fmt: skip
@config_option
@set_option
def up(
    data: Path,
    listen: tuple[str, int],
    registry_listen: tuple[str, int],
    rest_listen: tuple[str, int],
    console_listen: tuple[str, int],
    scripts: tuple[Path, ...],
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
        check_port_free(console_listen, "--console-listen")
        with Supervisor(data / "logs", click.echo) as supervisor:
            bootstrap_servers = supervisor.start(broker_service(listen, data, config, overrides))
            registry = supervisor.start(registry_service(registry_listen, bootstrap_servers))
            supervisor.start(rest_service(rest_listen, bootstrap_servers, f"http://{registry}"))
            supervisor.start(console_service(console_listen, bootstrap_servers))
            for script in scripts:
                supervisor.start(script_service(script, bootstrap_servers, data))
            supervisor.watch()
    except Stopped:
        return
    except ServiceFailed as failure:
        raise click.ClickException(str(failure)) from failure
