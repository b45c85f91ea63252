"""What the platform can start: broker, registry, REST Proxy, Connect, SQL server, console, and scripts."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from pathlib import Path

from penstock.platform.process import LISTEN, Service
from penstock.platform.supervisor import ServiceFailed
from penstock.settings.listeners import format_address


def broker_service(
    listen: tuple[str, int],
    data: Path,
    config: str | None,
    overrides: Mapping[str, str],
    security_protocol: str = "PLAINTEXT",
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
    if security_protocol != "PLAINTEXT":
        arguments += ["--security-protocol", security_protocol]
    if config is not None:
        arguments += ["--config", config]
    for name, value in overrides.items():
        arguments += ["--set", f"{name}={value}"]
    return Service("broker", tuple(arguments), ready_within_s=60, stop_within_s=30, essential=True)


def registry_service(listen: tuple[str, int], bootstrap_servers: str, config: Path | None = None) -> Service:
    """The Schema Registry; what it keeps is in the broker's topic `_schemas`."""
    command = ("-m", "penstock", "registry")
    where = (LISTEN, format_address(*listen), "--bootstrap-servers", bootstrap_servers)
    arguments = (*command, *where, *_config(config))
    return Service("registry", arguments, ready_within_s=60, stop_within_s=30, shown=as_url)


def rest_service(
    listen: tuple[str, int], bootstrap_servers: str, registry_url: str = "", config: Path | None = None
) -> Service:
    """The REST Proxy; without a Schema Registry it refuses the formats that need one."""
    arguments = ["-m", "penstock", "rest", LISTEN, format_address(*listen)]
    arguments += ["--bootstrap-servers", bootstrap_servers]
    if registry_url:
        arguments += ["--set", f"schema.registry.url={registry_url}"]
    arguments += _config(config)
    return Service("rest", tuple(arguments), ready_within_s=60, stop_within_s=30, shown=as_url)


def connect_service(
    listen: tuple[str, int], bootstrap_servers: str, data: Path, config: Path | None = None
) -> Service:
    """A worker of Connect: what it keeps is in the broker's topics. Its connectors may open files under
    DATA/connect, and load connectors from DATA/connect/plugins."""
    files = data.absolute() / "connect"
    plugins = files / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    arguments = ["-m", "penstock", "connect", LISTEN, format_address(*listen)]
    arguments += ["--bootstrap-servers", bootstrap_servers]
    arguments += ["--set", f"penstock.allowed.paths={files}", "--set", f"plugin.path={plugins}"]
    arguments += _config(config)
    return Service("connect", tuple(arguments), ready_within_s=60, stop_within_s=60, shown=as_url)


def sql_service(
    listen: tuple[str, int],
    bootstrap_servers: str,
    data: Path,
    registry_url: str = "",
    connect_url: str = "",
    config: Path | None = None,
) -> Service:
    """The SQL server, with the state of its queries under DATA/sql."""
    arguments = ["-m", "penstock", "sql", LISTEN, format_address(*listen)]
    arguments += ["--bootstrap-servers", bootstrap_servers]
    arguments += ["--set", f"ksql.streams.state.dir={data / 'sql'}"]
    if registry_url:
        arguments += ["--set", f"ksql.schema.registry.url={registry_url}"]
    if connect_url:
        arguments += ["--set", f"ksql.connect.url={connect_url}"]
    arguments += _config(config)
    return Service("sql", tuple(arguments), ready_within_s=60, stop_within_s=60, shown=as_url)


def metrics_address(
    listen: tuple[str, int], overrides: Mapping[str, str], config: str | None, *, secure: bool
) -> str:
    """Where the broker publishes its metrics for the console: as the overrides say, else a free port beside a
    broker that only this machine reaches. Empty where the file decides, or where metrics would be open to
    other machines or users.
    """
    if overrides.get("metrics.listener"):
        return overrides["metrics.listener"]
    named = config is not None and Path(config).is_file() and "metrics.listener" in Path(config).read_text()
    if named or secure or listen[0] not in ("127.0.0.1", "localhost"):
        return ""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return format_address("127.0.0.1", probe.getsockname()[1])


def console_service(
    listen: tuple[str, int],
    bootstrap_servers: str,
    config: Path | None = None,
    urls: Mapping[str, str] | None = None,
) -> Service:
    """The web console; `urls` say where the other services and the broker's metrics are, by name."""
    command = ("-m", "penstock", "console")
    where = (LISTEN, format_address(*listen), "--bootstrap-servers", bootstrap_servers)
    others = [
        word
        for name in ("registry", "connect", "sql", "metrics")
        if (urls or {}).get(name)
        for word in (f"--{name}-url", (urls or {})[name])
    ]
    arguments = (*command, *where, *_config(config), *others)
    return Service("console", arguments, ready_within_s=60, stop_within_s=10, shown=as_url)


def script_service(
    script: Path, bootstrap_servers: str, data: Path, client_config: Path | None = None
) -> Service:
    """A script of the user, which prints `ready` as well; it may keep what it needs under DATA/NAME."""
    arguments = [str(script), "--bootstrap-servers", bootstrap_servers, "--data", str(data / script.stem)]
    if client_config is not None:
        arguments += ["--command-config", str(client_config)]
    return Service(script.stem, tuple(arguments), ready_within_s=300, stop_within_s=60, may_finish=True)


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


def _config(path: Path | None) -> list[str]:
    return [] if path is None else ["--config", str(path)]


def as_url(address: str) -> str:
    """What a ready line says, as a URL."""
    return address if "://" in address else f"http://{address}"
