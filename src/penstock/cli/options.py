"""Options that several commands share, and the forms in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click
from click.core import ParameterSource

from penstock.cli import profiles
from penstock.cli.access import Access
from penstock.settings.errors import SettingError
from penstock.settings.listeners import parse_address
from penstock.settings.sources import parse_assignment, read_properties

if TYPE_CHECKING:
    from penstock.web.door_settings import DoorSettings

DEFAULT_BOOTSTRAP_SERVERS: Final = profiles.DEFAULT_SERVERS

Command = TypeVar("Command", bound=Callable[..., Any])


def client_options(command: Command) -> Command:
    """What every command that talks to a broker takes: where it is, how to be let in, how long to wait, and
    how to print. The command gets an `Access` named `access`, and `as_json`."""

    @wraps(command)
    def with_access(
        bootstrap_servers: str | None, command_config: str | None, timeout_s: float, **others: Any
    ) -> Any:
        properties = read_properties(command_config) if command_config else profiles.properties()
        servers = bootstrap_servers or properties.get("bootstrap.servers") or profiles.bootstrap_servers()
        return command(access=Access(servers, timeout_s, properties), **others)

    found: Any = with_access
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line."),
        click.option(
            "--timeout",
            "timeout_s",
            type=click.FloatRange(min=0.1),
            default=10.0,
            show_default=True,
            metavar="SECONDS",
            help="How long to wait for an answer of the broker.",
        ),
        click.option(
            "--command-config",
            type=click.Path(exists=True, dir_okay=False, readable=True),
            metavar="FILE",
            help="Settings of the client as a properties file: security.protocol, sasl.jaas.config, …",
        ),
        click.option(
            "--bootstrap-servers",
            "--bootstrap-server",
            "bootstrap_servers",
            metavar="HOST:PORT,…",
            help="Brokers to connect to first. [default: those of --command-config, else of the profile in "
            f"use, else {DEFAULT_BOOTSTRAP_SERVERS}]",
        ),
    ):
        found = option(found)
    return cast(Command, found)


bootstrap_servers_option = click.option(
    "--bootstrap-servers",
    "--bootstrap-server",
    "bootstrap_servers",
    default=DEFAULT_BOOTSTRAP_SERVERS,
    show_default=True,
    metavar="HOST:PORT,…",
    help="Brokers to connect to first.",
)


def assignments(
    _context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Reads an option given as name=value, any number of times; the last one of a name counts."""
    try:
        return dict(parse_assignment(text) for text in texts)
    except SettingError as error:
        raise click.BadParameter(str(error), param=parameter) from error


def address(_context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, int] | None:
    """Reads an option given as HOST:PORT."""
    if text is None:
        return None
    try:
        return parse_address(parameter.opts[0], text)
    except SettingError as error:
        raise click.BadParameter(f"{text!r} is not of the form HOST:PORT", param=parameter) from error


def _set_option(told: str) -> Callable[[Command], Command]:
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="NAME=VALUE",
        callback=assignments,
        help=f"A setting {told}. May be repeated.",
    )


def _config_option(told: str) -> Callable[[Command], Command]:
    return click.option(
        "--config",
        "config",
        type=click.Path(exists=True, dir_okay=False, readable=True),
        metavar="FILE",
        help=f"Settings as a properties file, {told}.",
    )


set_option = _set_option("under Kafka's name; beats the file and KAFKA_… variables")
config_option = _config_option("such as Kafka's server.properties")


def service_address(listen: tuple[str, int], door: DoorSettings) -> tuple[str, int]:
    """Where a service listens: as `listeners` says, unless --listen was given."""
    source = click.get_current_context().get_parameter_source("listen")
    return door.listen if door.listen is not None and source is ParameterSource.DEFAULT else listen


def service_options(listen: str, config_file: str) -> Callable[[Command], Command]:
    """What every HTTP service takes: where it listens, its brokers, and its settings."""

    def decorate(command: Command) -> Command:
        for option in (
            _set_option("of the service; beats the file"),
            _config_option(config_file),
            bootstrap_servers_option,
            click.option(
                "--listen",
                callback=address,
                default=listen,
                show_default=True,
                metavar="HOST:PORT",
                help="Address of the service; port 0 picks a free one.",
            ),
        ):
            command = option(command)
        return command

    return decorate


def worker_options(command: Command) -> Command:
    """For a service of which several processes may listen on one port."""
    command = click.option("--worker", hidden=True, default=None)(command)
    return click.option(
        "--workers",
        type=click.IntRange(1, 64),
        default=1,
        show_default=True,
        help="How many processes serve the address.",
    )(command)


def arguments_of_worker(
    name: str, bootstrap_servers: str, config: str | None, overrides: dict[str, str], log_level: str
) -> list[str]:
    """The command line of one of several workers, but for its address."""
    found = [name, "--bootstrap-servers", bootstrap_servers, "--log-level", log_level]
    if config is not None:
        found += ["--config", config]
    for setting, value in overrides.items():
        found += ["--set", f"{setting}={value}"]
    return found
