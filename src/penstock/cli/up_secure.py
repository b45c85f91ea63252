"""`penstock up --secure`: what is written before the broker starts, and the files of the services."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from penstock.platform.securing import SecurityKit
from penstock.platform.supervisor import ServiceFailed
from penstock.settings.listeners import Listener
from penstock.settings.sources import read_properties
from penstock.storage.meta import new_id


@dataclass(frozen=True)
class ServiceFiles:
    """The files of settings; None for a platform that asks nobody."""

    registry: Path | None = None
    rest: Path | None = None
    connect: Path | None = None
    sql: Path | None = None
    console: Path | None = None
    client: Path | None = None


@dataclass(frozen=True)
class Kit:
    """The folder of certificates and passwords, and the broker's file in it."""

    made: SecurityKit
    broker: str

    @property
    def folder(self) -> Path:
        return self.made.folder

    def files(self, bootstrap_servers: str) -> ServiceFiles:
        made = self.made
        made.write_clients(bootstrap_servers)
        return ServiceFiles(
            made.service_file("registry", "kafkastore."),
            made.service_file("rest", "client.", made.registry_access("schema.registry.")),
            made.service_file("connect", ""),
            made.service_file("sql", "", made.registry_access("ksql.schema.registry.", "ksql.connect.")),
            made.service_file("console", "client."),
            made.folder / "client.properties",
        )


def secured(data: Path, listen: tuple[str, int], hosts: Iterable[str], config: str | None) -> Kit:
    """Certificates, passwords and the broker's directories with its first users. ServiceFailed when the
    directories were made without them."""
    directory = data / "broker"
    is_formatted = (directory / "meta.properties").exists()
    if is_formatted and not (data / "security").exists():
        raise ServiceFailed(
            f"{data} was made without --secure, and its first users cannot be added by a start. "
            "Choose another directory with --data DIR, or start without --secure."
        )
    made = SecurityKit(data, hosts)
    given = read_properties(config) if config is not None else {}
    listener = str(Listener("SASL_SSL", *listen))
    own = {"log.dirs": str(directory), "listeners": listener, **given}
    path = str(made.broker_file(own))
    if not is_formatted:
        _format(path, made.first_users())
    return Kit(made, path)


def _format(config: str, users: Iterable[str]) -> None:
    from penstock.cli.kafka.options import CommandFailed
    from penstock.cli.kafka.storage import storage

    words = ["format", "--cluster-id", new_id(SystemRandom()), "--config", config, "--standalone"]
    for user in users:
        words += ["--add-scram", user]
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            storage(words)
    except CommandFailed as error:
        raise ServiceFailed(f"The directories of the broker cannot be formatted: {error}") from error
