"""What a connector's configuration may not do: open files outside the directories that the worker allows, and
reach addresses that only the machine itself should (link-local ones, where clouds keep credentials).

The worker writes what it allows into the configuration (`ALLOWED_PATHS`), over whatever a user gave there.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from penstock.connect.errors import ConnectError

ALLOWED_PATHS: Final = "penstock.worker.allowed.paths"
SETTING: Final = "penstock.allowed.paths"
_ONE_HOST: Final = re.compile(r"[^\s,/\\@]+")
"""Drivers take more for a host than one: several with commas between them, or the path of a socket."""
_METADATA: Final = (ipaddress.ip_address("100.100.100.200"), ipaddress.ip_address("fd00:ec2::254"))


class Forbidden(ConnectError):
    """The worker does not let connectors do this."""


def allowed_path(config: Mapping[str, str], path: str) -> Path:
    """The path with links followed; Forbidden when it lies outside of what the worker allows."""
    real = Path(os.path.realpath(path))
    allowed = [part.strip() for part in config.get(ALLOWED_PATHS, "").split(",") if part.strip()]
    if any(real == (root := Path(os.path.realpath(each))) or root in real.parents for each in allowed):
        return real
    where = f"they may in {', '.join(allowed)}" if allowed else "no directory is allowed"
    raise Forbidden(
        f"connectors of this worker may not open {path}: {where}. The worker's setting {SETTING} lists the "
        "directories in which they may"
    )


def path_mistakes(config: Mapping[str, str], setting: str) -> list[tuple[str, str]]:
    """For `check`: a mistake if the setting names a path that is not allowed."""
    if not config.get(setting):
        return []
    try:
        allowed_path(config, config[setting])
    except Forbidden as error:
        return [(setting, str(error))]
    return []


def allowed_address(url: str) -> None:
    """Forbidden when the host of the URL is, or resolves to, an address of the machine's own surroundings."""
    host = urlsplit(url).hostname or ""
    allowed_host(host)


def allowed_host(host: str) -> None:
    """The same for a host alone, as a driver is given it."""
    if not host:
        return
    if not _ONE_HOST.fullmatch(host):
        raise Forbidden(f"connectors may not reach {host!r}: it is not the name or the address of one host")
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(host, None)}
    except OSError:
        return  # the connection itself will say that there is no such host
    _checked(host, found)


def _checked(host: str, found: set[str]) -> None:
    for text in found:
        address = ipaddress.ip_address(text.partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None) or address
        if mapped.is_link_local or mapped.is_multicast or mapped in _METADATA:
            raise Forbidden(
                f"connectors may not reach {host} ({mapped}): it is an address of the machine itself"
            )
