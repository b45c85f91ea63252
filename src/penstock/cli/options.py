"""Options that several commands share, and the forms in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from penstock.settings.errors import SettingError
from penstock.settings.listeners import parse_address
from penstock.settings.sources import parse_assignment

DEFAULT_BOOTSTRAP_SERVERS: Final = "127.0.0.1:9092"

Command = TypeVar("Command", bound=Callable[..., Any])


def client_options(command: Command) -> Command:
    """What every command that talks to a broker takes: where it is, how long to wait, and how to print."""
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
        bootstrap_servers_option,
    ):
        command = option(command)
    return command


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
