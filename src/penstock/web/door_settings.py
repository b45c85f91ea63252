"""How a service's door is kept, under the names of Confluent's services.

    listeners                     `https://HOST:PORT`, or `http://…`
    ssl.keystore.…  ssl.…         certificate, versions and suites; for clients' certificates also
    ssl.client.authentication     NONE, REQUESTED or REQUIRED (`ssl.client.auth` says the same)
    authentication.method         NONE, BASIC, BEARER, SSL; several with commas, of which one must hold
    authentication.realm          what browsers show
    authentication.roles          which roles of the password file come in; `*` for all
    authentication.skip.paths     routes that ask nobody, such as /metrics
    authentication.password.file  users of BASIC; without it the broker is asked
    authentication.broker.mechanism   by which mechanism the broker is asked
    sasl.oauthbearer.jwks.…       who signs the tokens of BEARER; without it the broker is asked

A service takes these names out of its settings before it reads its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.security.listener_settings import (
    JWKS_URL,
    ListenerSettingsError,
    Oauth,
    ServerTls,
    listener_security,
)
from penstock.settings.errors import SettingError, invalid
from penstock.settings.listeners import parse_address

METHODS: Final = ("BASIC", "BEARER", "SSL")
BASIC_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_OWN: Final = (
    "listeners",
    "authentication.method",
    "authentication.realm",
    "authentication.roles",
    "authentication.skip.paths",
    "authentication.password.file",
    "authentication.broker.mechanism",
    "ssl.client.authentication",
)
_SHARED: Final = ("ssl.", "sasl.oauthbearer.")
"""Names that a service whose Kafka client has the same ones reads as well."""
_OF_CONNECT: Final = "listeners.https."


@dataclass(frozen=True, slots=True)
class DoorSettings:
    listen: tuple[str, int] | None = None
    """What `listeners` says; None when it says nothing."""
    tls: ServerTls | None = None
    methods: tuple[str, ...] = ()
    realm: str = "penstock"
    roles: frozenset[str] = frozenset({"*"})
    skip_paths: tuple[str, ...] = ()
    password_file: str | None = None
    broker_mechanism: str | None = None
    oauth: Oauth | None = field(default=None, repr=False)
    name_claim: str = "sub"

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    @property
    def asks_broker(self) -> bool:
        """Whether callers must log in at the broker."""
        by_password = "BASIC" in self.methods and self.password_file is None
        return by_password or ("BEARER" in self.methods and self.oauth is None)


def take_door_settings(
    texts: Mapping[str, str], *, is_shared: bool = False
) -> tuple[DoorSettings, dict[str, str]]:
    """The settings of the door, and those that are left. `is_shared` leaves names that the Kafka client of
    the service has as well. SettingError for what cannot be honoured."""
    own = {name: texts[name].strip() for name in _OWN if name in texts}
    secured = {name: text for name, text in texts.items() if name.startswith(_SHARED) and name not in _OWN}
    secured |= {
        name.removeprefix(_OF_CONNECT): text for name, text in texts.items() if name.startswith(_OF_CONNECT)
    }
    left = {name: text for name, text in texts.items() if name not in _OWN}
    left = {name: text for name, text in left.items() if not name.startswith(_OF_CONNECT)}
    if not is_shared:
        left = {name: text for name, text in left.items() if name not in secured}
    return _read(own, secured, is_shared), left


def _read(own: Mapping[str, str], secured: Mapping[str, str], is_shared: bool) -> DoorSettings:
    scheme, listen = _listener(own.get("listeners", ""))
    has_store = any(name.startswith("ssl.keystore.") for name in secured)
    if not scheme:  # a Kafka client's keystore alone does not make a door
        scheme = "https" if has_store and not is_shared else "http"
    tls, oauth = _security(scheme, own, secured)
    methods = _methods(own.get("authentication.method", ""))
    if not methods and tls is not None and tls.client_auth == "required":
        methods = ("SSL",)
    if "SSL" in methods and (tls is None or tls.client_auth == "none"):
        why = "certificates of clients need listeners=https://… and ssl.client.authentication"
        raise invalid("authentication.method", "SSL", why, "BASIC, BEARER")
    mechanism = own.get("authentication.broker.mechanism", "").upper() or None
    if mechanism is not None and mechanism not in BASIC_MECHANISMS:
        allowed = ", ".join(BASIC_MECHANISMS)
        raise invalid("authentication.broker.mechanism", mechanism, "no mechanism of passwords", allowed)
    return DoorSettings(
        listen,
        tls,
        methods,
        own.get("authentication.realm") or "penstock",
        frozenset(_list(own.get("authentication.roles", "*"))),
        tuple(_list(own.get("authentication.skip.paths", ""))),
        own.get("authentication.password.file") or None,
        mechanism,
        oauth if "BEARER" in methods else None,
        secured.get("sasl.oauthbearer.sub.claim.name", "sub"),
    )


def _listener(text: str) -> tuple[str, tuple[str, int] | None]:
    allowed = "one address, as http://HOST:PORT or https://HOST:PORT"
    if not text:
        return "", None
    if "," in text:
        raise invalid("listeners", text, "a service listens on one address", allowed)
    scheme, separator, address = text.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise invalid("listeners", text, "not an address of HTTP", allowed)
    host, port = parse_address("listeners", address)
    return scheme.lower(), (host, port)


def _security(
    scheme: str, own: Mapping[str, str], secured: Mapping[str, str]
) -> tuple[ServerTls | None, Oauth | None]:
    texts = {
        **secured,
        "ssl.client.auth": _client_auth(own, secured),
        "sasl.enabled.mechanisms": "OAUTHBEARER",
    }
    protocol = "SSL" if scheme == "https" else "PLAINTEXT"
    if JWKS_URL in secured:
        protocol = "SASL_SSL" if scheme == "https" else "SASL_PLAINTEXT"
    try:
        found = listener_security(texts, "http", protocol)
    except ListenerSettingsError as error:
        raise SettingError(
            f"{error.setting}: {error}", setting=error.setting, value=None, allowed=""
        ) from None
    return found.tls, found.oauth


def _client_auth(own: Mapping[str, str], secured: Mapping[str, str]) -> str:
    """Confluent's newer name, else its older one, which was true or false; Kafka's words do as well."""
    text = own.get("ssl.client.authentication") or secured.get("ssl.client.auth") or "none"
    return {"true": "required", "false": "none"}.get(text.strip().lower(), text.strip().lower())


def _methods(text: str) -> tuple[str, ...]:
    found = tuple(word.upper() for word in _list(text) if word.upper() != "NONE")
    for word in found:
        if word not in METHODS:
            allowed = "NONE, " + ", ".join(METHODS)
            raise invalid("authentication.method", text, f"{word} is no method", allowed)
    return found


def _list(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
