"""What the platform can start: broker, registry, REST Proxy, console, and scripts of the user."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from pathlib import Path

from penstock.platform.process import LISTEN, Service
from penstock.platform.supervisor import ServiceFailed
from penstock.settings.listeners import format_address


def broker_service(
    listen: tuple[str, int], data: Path, config: str | None, overrides: Mapping[str, str]
) -> Service:
    """The broker, with its logs under DATA/broker."""
    arguments = [
        "-m",
        "penstock",
        "broker",
        LISTEN,
        format_address(*listen),
        "--data",
        str(data / "broker"),
    ]
    if config is not None:
        arguments += ["--config", config]
    for name, value in overrides.items():
        arguments += ["--set", f"{name}={value}"]
    return Service("broker", tuple(arguments), ready_within_s=60, stop_within_s=30, essential=True)


def registry_service(listen: tuple[str, int], bootstrap_servers: str) -> Service:
    """The Schema Registry; what it keeps is in the broker's topic `_schemas`."""
    command = ("-m", "penstock", "registry")
    arguments = (*command, LISTEN, format_address(*listen), "--bootstrap-servers", bootstrap_servers)
    return Service("registry", arguments, ready_within_s=60, stop_within_s=30, shown=_as_url)


def rest_service(listen: tuple[str, int], bootstrap_servers: str, registry_url: str = "") -> Service:
    """The REST Proxy; without a Schema Registry it refuses the formats that need one."""
    arguments = ["-m", "penstock", "rest", LISTEN, format_address(*listen)]
    arguments += ["--bootstrap-servers", bootstrap_servers]
    if registry_url:
        arguments += ["--set", f"schema.registry.url={registry_url}"]
    return Service("rest", tuple(arguments), ready_within_s=60, stop_within_s=30, shown=_as_url)


def console_service(listen: tuple[str, int], bootstrap_servers: str) -> Service:
    """The web console."""
    command = ("-m", "penstock", "console")
    arguments = (*command, LISTEN, format_address(*listen), "--bootstrap-servers", bootstrap_servers)
    return Service("console", arguments, ready_within_s=60, stop_within_s=10, shown=_as_url)


def script_service(script: Path, bootstrap_servers: str, data: Path) -> Service:
    """A script of the user, which prints `ready` as well; it may keep what it needs under DATA/NAME."""
    arguments = (str(script), "--bootstrap-servers", bootstrap_servers, "--data", str(data / script.stem))
    return Service(script.stem, arguments, ready_within_s=300, stop_within_s=60, may_finish=True)


def check_port_free(listen: tuple[str, int], option: str) -> None:
    """Raises ServiceFailed, naming port and option, when another program listens there already."""
    host, port = listen
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                why = f"Port {port} of {host or 'this machine'} is in use by another program"
            else:
                why = f"Cannot listen on {format_address(host, port)}: {error.strerror or error}"
            raise ServiceFailed(
                f"{why}. Stop it, or choose another address with {option} HOST:PORT."
            ) from error


def _as_url(address: str) -> str:
    return address if "://" in address else f"http://{address}"
