"""`penstock broker`: reads the settings, runs the server until it is told to stop, says when it is ready."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, config_option, set_option
from penstock.protocol.errors import KafkaError
from penstock.settings import BrokerSettings, Listener
from penstock.settings.listeners import format_address
from penstock.storage.errors import StorageError

DEFAULT_ADDRESS = ("127.0.0.1", 9092)


@click.command()
@click.option(
    "--listen",
    callback=address,
    metavar="HOST:PORT",
    help="Address for clients; port 0 picks a free one. Short for --set listeners=PROTOCOL://HOST:PORT. "
    "[default: 127.0.0.1:9092, unless a file or a variable gives listeners]",
)
@click.option(
    "--security-protocol",
    type=click.Choice(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
    default="PLAINTEXT",
    show_default=True,
    help="How the address of --listen is protected; keys and users stand in the file of settings.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Where the logs are kept. Short for --set log.dirs=DIR. [default: penstock-data]",
)
@config_option
@set_option
@log_level_option
def broker(
    listen: tuple[str, int] | None,
    security_protocol: str,
    data: str | None,
    config: str | None,
    overrides: dict[str, str],
    log_level: str,
) -> None:
    """Run one broker in the foreground.

    A line `ready HOST:PORT` on standard output says that clients may connect. SIGTERM and Ctrl-C shut it down
    cleanly.
    """
    log_to_stderr(log_level)
    given = command_line_settings(listen, data, config, overrides, os.environ, security_protocol)
    settings = BrokerSettings.load(config, given, os.environ)
    # The server is imported after the settings are known to be right: a mistake is answered at once.
    from penstock.server.main import run

    try:
        run(settings, _print_ready)
    except BlockingIOError as error:
        where = ", ".join(settings.log_dirs)
        sentence = (
            f"Another broker uses {where} already. Stop it, or choose another directory with --data DIR."
        )
        raise click.ClickException(sentence) from error
    except OSError as error:
        sentence = _cannot_listen(settings, error)
        if not sentence:
            raise
        raise click.ClickException(sentence) from error
    except KafkaError as error:
        raise click.ClickException(f"The cluster did not take this broker in time: {error}.") from error
    except StorageError as error:
        raise click.ClickException(f"The broker cannot use its data: {error}.") from error


def command_line_settings(
    listen: tuple[str, int] | None,
    data: str | None,
    config: str | None,
    overrides: Mapping[str, str],
    environ: Mapping[str, str],
    security_protocol: str = "PLAINTEXT",
) -> dict[str, str]:
    """--listen, --data and --set as settings; --set beats the short forms.

    Without a word about listeners anywhere the broker listens on this machine only: it asks nobody for a
    password.
    """
    given: dict[str, str] = {}
    if listen is None and config is None and "KAFKA_LISTENERS" not in environ:
        listen = DEFAULT_ADDRESS
    if listen is not None:
        given["listeners"] = str(Listener(security_protocol, *listen))
    if data is not None:
        given["log.dirs"] = data
    return {**given, **overrides}


def _print_ready(where: str) -> None:
    click.echo(f"ready {where}")


def _cannot_listen(settings: BrokerSettings, error: OSError) -> str:
    """The sentence for an address that cannot be had; empty when the error is another one."""
    reasons = {
        errno.EADDRINUSE: "the port is in use by another program",
        errno.EADDRNOTAVAIL: "this machine does not have that address",
        errno.EACCES: "that port needs more rights",
    }
    named = isinstance(error, socket.gaierror)
    reason = "there is no address under that name" if named else reasons.get(error.errno or 0)
    if reason is None:
        return ""
    where = ", ".join(format_address(at.host, at.port) for at in settings.client_listeners)
    return f"Cannot listen on {where}: {reason}. Choose another with --listen HOST:PORT."
