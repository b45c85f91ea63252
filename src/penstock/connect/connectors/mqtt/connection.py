"""The settings of a connection to an MQTT broker, and the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.connect.api import ConfigKey, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty
from penstock.connect.api.guards import Forbidden, allowed_address
from penstock.connect.api.refusals import Mistakes, missing, require, unsupported
from penstock.connect.errors import ConfigError, RetriableError

PORTS: Final = {"tcp": 1883, "mqtt": 1883, "ssl": 8883, "mqtts": 8883}
_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def qos(name: str, value: Any) -> None:
    if value not in (0, 1, 2):
        raise ConfigError(name, value, "0, 1 or 2")


KEYS: Final = (
    ConfigKey(
        "mqtt.server.uri", Kind.STRING, importance=_HIGH, validator=non_empty,
        doc="tcp://HOST:PORT, or ssl:// for TLS.",
    ),
    ConfigKey("mqtt.username", Kind.STRING, "", _HIGH, "The user."),
    ConfigKey("mqtt.password", Kind.PASSWORD, None, _HIGH, "The password."),
    ConfigKey("mqtt.qos", Kind.INT, 1, _HIGH, "The quality of service: 0, 1 or 2.", qos),
    ConfigKey(
        "mqtt.connect.timeout.seconds", Kind.INT, 30, _LOW, "How long a connection may take.", at_least(1)
    ),
    ConfigKey("mqtt.keepalive.interval.seconds", Kind.INT, 60, _LOW, "MQTT's keep-alive.", at_least(1)),
)  # fmt: skip
UNSUPPORTED: Final = {
    "mqtt.ssl.": "The certificates of the machine are trusted.",
    "confluent.": "",
    "mqtt.clean.session.enabled": "Sessions are kept, so that nothing is missed.",
}


def connection_mistakes(config: Mapping[str, Any], refused: Mapping[str, str]) -> Mistakes:
    found = unsupported(config, {**UNSUPPORTED, **refused}) + missing("paho")
    uri = str(config.get("mqtt.server.uri") or "")
    if not uri:
        return found
    parts = urlsplit(uri)
    if parts.scheme not in PORTS or not parts.hostname or parts.username or parts.password:
        return [*found, ("mqtt.server.uri", "It is tcp://HOST:PORT or ssl://HOST:PORT")]
    try:
        allowed_address(uri)
    except Forbidden as error:
        found.append(("mqtt.server.uri", str(error)))
    return found


def client(settings: Mapping[str, Any], name: str, *, keeps: bool) -> Any:
    """A client that is not connected. `keeps`: the broker keeps its session, and waits for each `ack`."""
    require("paho")
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    from penstock.connect.connectors.mqtt.late_client import LateClient

    kind = LateClient if keeps else Client
    made = kind(CallbackAPIVersion.VERSION2, name, clean_session=not keeps, manual_ack=keeps)
    if settings["mqtt.username"]:
        made.username_pw_set(settings["mqtt.username"], settings["mqtt.password"])
    if urlsplit(settings["mqtt.server.uri"]).scheme in ("ssl", "mqtts"):
        made.tls_set()
    made.connect_timeout = settings["mqtt.connect.timeout.seconds"]
    return made


def connect(made: Any, settings: Mapping[str, Any]) -> None:
    """RetriableError when the broker is not there."""
    uri = settings["mqtt.server.uri"]
    allowed_address(uri)
    parts = urlsplit(uri)
    try:
        made.connect(
            parts.hostname, parts.port or PORTS[parts.scheme], settings["mqtt.keepalive.interval.seconds"]
        )
    except OSError as error:
        raise RetriableError(f"{uri}: {error}") from error
