"""Addresses on which a broker listens, as Kafka writes them: `PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.settings.errors import SettingError, invalid
from penstock.settings.kinds import Kind, SettingType, split_list

ALLOWED = "a comma-separated list of NAME://HOST:PORT, where an empty host means every address"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LISTENER = re.compile(r"([^:/]+)://(\[[0-9a-fA-F:.%\w]*\]|[0-9a-zA-Z\-._%]*):([0-9]{1,5})", re.ASCII)
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.%\w]*\]|[0-9a-zA-Z\-._%]*):([0-9]{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Listener:
    """One listener. `host` is empty for every address; port 0 lets the system pick one. The security protocol
    stands in `listener.security.protocol.map`; `protected` fills it in."""

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    @property
    def is_wildcard(self) -> bool:
        """True when it listens on every address, so that its host says nothing to a client."""
        return self.host in ("", "0.0.0.0", "::")

    def __str__(self) -> str:
        return f"{self.name}://{format_address(self.host, self.port)}"


def format_address(host: str, port: int) -> str:
    """`HOST:PORT`, with the brackets that an IPv6 address needs."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(setting: str, text: str) -> tuple[str, int]:
    """`HOST:PORT` as given on the command line."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or int(found[2]) > 65535:
        raise invalid(setting, text, "not an address", "HOST:PORT with a port from 0 to 65535")
    return found[1].strip("[]"), int(found[2])


def parse_listeners(setting: str, text: str) -> tuple[Listener, ...]:
    """Every listener of a setting. Names are in capitals and unlike each other."""
    found = tuple(_parse_listener(setting, item) for item in split_list(text) if item)
    names = [listener.name for listener in found]
    if len(set(names)) < len(names):
        raise invalid(setting, text, "Each listener must have a different name", ALLOWED)
    return found


def _parse_listener(setting: str, item: str) -> Listener:
    found = _LISTENER.fullmatch(item)
    if found is None or int(found[3]) > 65535:
        raise invalid(setting, item, f"Unable to parse {item} to a broker endpoint", ALLOWED)
    return Listener(found[1].upper(), found[2].strip("[]"), int(found[3]))


def _parse_protocol_map(setting: str, text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for item in split_list(text):
        name, colon, protocol = item.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            allowed = f"a comma-separated list of NAME:PROTOCOL with a protocol of {', '.join(PROTOCOLS)}"
            raise invalid(setting, item, "not a listener name and its protocol", allowed)
        pairs.append((name.strip().upper(), protocol.strip().upper()))
    return tuple(pairs)


LISTENERS = Kind(SettingType.STRING, parse_listeners, lambda value: ",".join(map(str, value)), ALLOWED)
PROTOCOL_MAP = Kind(
    SettingType.STRING,
    _parse_protocol_map,
    lambda value: ",".join(f"{name}:{protocol}" for name, protocol in value),
    "a comma-separated list of NAME:PROTOCOL",
)
DEFAULT_PROTOCOL_MAP = tuple((protocol, protocol) for protocol in PROTOCOLS)


def protected(listeners: Iterable[Listener], protocols: tuple[tuple[str, str], ...]) -> tuple[Listener, ...]:
    """The listeners with the security protocols that the map gives to their names."""
    known = dict(protocols)
    return tuple(
        replace(listener, security_protocol=known.get(listener.name, listener.security_protocol))
        for listener in listeners
    )


def check_protocols(listeners: tuple[Listener, ...], protocols: tuple[tuple[str, str], ...]) -> None:
    """Refuses a listener whose name the map does not know."""
    known = dict(protocols)
    for listener in listeners:
        if listener.name not in known:
            message = f"No security protocol defined for listener {listener.name}"
            allowed = f"an entry {listener.name}:PLAINTEXT in listener.security.protocol.map"
            raise SettingError(message, setting="listeners", value=str(listener), allowed=allowed)
