"""Profiles: names for clusters. Each is a properties file of a client under `~/.config/penstock/profiles`.

`current` beside that folder has the name of the profile in use. `PENSTOCK_PROFILE` names another for one
command, `PENSTOCK_CONFIG_DIR` another folder, and `PENSTOCK_BOOTSTRAP_SERVERS` an address without a profile.
Files are readable by their owner only: they may hold passwords.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.client.errors import ClientError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DEFAULT_SERVERS: Final = "127.0.0.1:9092"
DEFAULT_REGISTRY: Final = "http://127.0.0.1:8081"


class NoSuchProfile(ClientError):
    code = "no_such_profile"


def folder() -> Path:
    given = os.environ.get("PENSTOCK_CONFIG_DIR")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "penstock"


def names() -> list[str]:
    return sorted(path.stem for path in (folder() / "profiles").glob("*.properties"))


def current() -> str | None:
    """The name of the profile in use; none if there is none."""
    given = os.environ.get("PENSTOCK_PROFILE")
    if given:
        return given
    try:
        return (folder() / "current").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def use(name: str | None) -> None:
    """Makes a profile the one in use, or none."""
    if name is not None:
        path_of(name)
    folder().mkdir(parents=True, exist_ok=True)
    (folder() / "current").write_text(f"{name or ''}\n", encoding="utf-8")


def path_of(name: str) -> Path:
    path = folder() / "profiles" / f"{name}.properties"
    if not path.is_file():
        known = ", ".join(names()) or "none yet"
        raise NoSuchProfile(
            f"There is no profile {name!r}; there are: {known}. Make one with `penstock profile create "
            f"{name} --bootstrap-servers HOST:PORT`."
        )
    return path


def properties(name: str | None = None) -> dict[str, str]:
    """The settings of a profile, by default of the one in use; empty without one."""
    chosen = name or current()
    if chosen is None:
        return {}
    from penstock.settings.sources import read_properties

    return read_properties(str(path_of(chosen)))


def create(name: str, settings: Mapping[str, str]) -> Path:
    if _NAME.fullmatch(name) is None:
        raise ClientError(f"{name!r} is no name of a profile: take letters, digits, dots and dashes.")
    path = folder() / "profiles" / f"{name}.properties"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def delete(name: str) -> None:
    path_of(name).unlink()
    if current() == name:
        use(None)


def bootstrap_servers() -> str:
    """Where a command goes that was given no address."""
    given = os.environ.get("PENSTOCK_BOOTSTRAP_SERVERS")
    return given or properties().get("bootstrap.servers") or DEFAULT_SERVERS


def registry_url() -> str:
    given = os.environ.get("PENSTOCK_REGISTRY_URL")
    return given or properties().get("schema.registry.url") or DEFAULT_REGISTRY


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
