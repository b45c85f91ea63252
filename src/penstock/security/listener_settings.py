"""What the settings of a broker say of one listener's security: from Kafka's texts to one value.

A name is looked up as `listener.name.<listener>.<name>`, then as itself. What belongs to a mechanism is
looked up as `listener.name.<listener>.<mechanism>.<name>` before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.security.client_settings import MECHANISMS, ClientSettings, ClientSettingsError, Store, store
from penstock.security.jaas import JaasError, LoginModule, parse_jaas
from penstock.security.principal_mapping import PrincipalMapping

CLIENT_AUTH: Final = ("none", "requested", "required")
UNSECURED_VALIDATOR: Final = "OAuthBearerUnsecuredValidatorCallbackHandler"
_USER: Final = "user_"


class ListenerSettingsError(ValueError):
    """`setting` cannot be honoured. The message never shows a secret."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


@dataclass(frozen=True, slots=True)
class ServerTls:
    """TLS on the server's side."""

    identity: Store
    trust: Store | None
    client_auth: str
    mapping_rules: str


@dataclass(frozen=True, slots=True)
class Oauth:
    """How tokens are believed."""

    is_unsecured: bool
    jwks_url: str
    audiences: tuple[str, ...]
    issuer: str | None
    skew_seconds: float
    name_claim: str
    refresh_seconds: float


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """One listener. No `repr` shows a password."""

    protocol: str
    tls: ServerTls | None = None
    mechanisms: tuple[str, ...] = ()
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of PLAIN, by user."""
    oauth: Oauth | None = None
    max_session_ms: Mapping[str, int] = field(default_factory=dict)
    """By mechanism; 0 means that sessions do not end."""


class ListenerTexts:
    """The settings as one listener sees them."""

    def __init__(self, texts: Mapping[str, str], listener: str) -> None:
        self._texts = texts
        self._prefix = f"listener.name.{listener.lower()}."

    def get(self, name: str, default: str = "") -> str:
        return self._texts.get(self._prefix + name, self._texts.get(name, default)).strip()

    def of_mechanism(self, mechanism: str, name: str, default: str = "") -> str:
        own = self._texts.get(f"{self._prefix}{mechanism.lower()}.{name}")
        return self.get(name, default) if own is None else own.strip()

    def jaas(self, mechanism: str) -> LoginModule | None:
        """Only with the prefix of listener and mechanism, as in Kafka."""
        name = f"{self._prefix}{mechanism.lower()}.sasl.jaas.config"
        text = self._texts.get(name, "")
        if not text.strip():
            return None
        try:
            return parse_jaas(text)
        except JaasError as error:
            raise ListenerSettingsError(name, str(error)) from None

    def merged(self) -> dict[str, str]:
        """Every setting of TLS as this listener has it."""
        own = {
            name.removeprefix(self._prefix): text
            for name, text in self._texts.items()
            if name.startswith(self._prefix)
        }
        return {**{name: text for name, text in self._texts.items() if name.startswith("ssl.")}, **own}


def listener_security(texts: Mapping[str, str], listener: str, protocol: str) -> ListenerSecurity:
    """ListenerSettingsError for settings that cannot be honoured."""
    own = ListenerTexts(texts, listener)
    tls = _tls(own, protocol) if protocol in ("SSL", "SASL_SSL") else None
    if not protocol.startswith("SASL_"):
        return ListenerSecurity(protocol, tls)
    mechanisms = tuple(name.strip() for name in own.get("sasl.enabled.mechanisms", "GSSAPI").split(","))
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            why = f"{mechanism} is not offered; write some of {', '.join(MECHANISMS)}"
            raise ListenerSettingsError("sasl.enabled.mechanisms", why)
    return ListenerSecurity(
        protocol,
        tls,
        mechanisms,
        _plain_passwords(own) if "PLAIN" in mechanisms else {},
        _oauth(own) if "OAUTHBEARER" in mechanisms else None,
        {name: _whole(own.of_mechanism(name, "connections.max.reauth.ms", "0")) for name in mechanisms},
    )


def client_of_listener(
    texts: Mapping[str, str], listener: str, protocol: str, mechanism: str
) -> ClientSettings:
    """How this node reaches another one through a listener of this name: as its own listener is set up."""
    own = ListenerTexts(texts, listener)
    properties = {**own.merged(), "security.protocol": protocol}
    properties.pop("ssl.cipher.suites", None)
    if protocol.startswith("SASL_"):
        module = own.jaas(mechanism)
        name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
        if module is None or "username" not in module.options or "password" not in module.options:
            raise ListenerSettingsError(name, "nodes need a username and a password here to reach each other")
        properties |= {
            "sasl.mechanism": mechanism,
            "sasl.username": module.options["username"],
            "sasl.password": module.options["password"],
        }
        properties.pop("sasl.jaas.config", None)
    try:
        return ClientSettings.from_properties(properties)
    except ClientSettingsError as error:
        raise ListenerSettingsError("inter.broker.listener.name", str(error)) from None


def _tls(own: ListenerTexts, protocol: str) -> ServerTls:
    texts = own.merged()
    try:
        identity, trust = store(texts, "ssl.keystore."), store(texts, "ssl.truststore.")
    except ClientSettingsError as error:
        raise ListenerSettingsError("ssl.keystore.location", str(error)) from None
    if identity is None:
        raise ListenerSettingsError("ssl.keystore.location", "a listener with TLS needs a certificate")
    client_auth = own.get("ssl.client.auth", "none").lower() or "none"
    if client_auth not in CLIENT_AUTH:
        raise ListenerSettingsError("ssl.client.auth", f"write one of {', '.join(CLIENT_AUTH)}")
    if client_auth != "none" and trust is None:
        raise ListenerSettingsError("ssl.truststore.location", "clients' certificates need a truststore")
    rules = own.get("ssl.principal.mapping.rules", "DEFAULT") or "DEFAULT"
    try:
        PrincipalMapping(rules)
    except ValueError as error:
        raise ListenerSettingsError("ssl.principal.mapping.rules", str(error)) from None
    return ServerTls(identity, trust, client_auth, rules)


def _plain_passwords(own: ListenerTexts) -> dict[str, str]:
    module = own.jaas("PLAIN")
    if module is None:
        why = "PLAIN needs users, as listener.name.<listener>.plain.sasl.jaas.config with user_<name>"
        raise ListenerSettingsError("sasl.jaas.config", why)
    return {
        name.removeprefix(_USER): password
        for name, password in module.options.items()
        if name.startswith(_USER)
    }


def _oauth(own: ListenerTexts) -> Oauth:
    def text(name: str, default: str = "") -> str:
        return own.of_mechanism("OAUTHBEARER", name, default)

    url = text("sasl.oauthbearer.jwks.endpoint.url")
    handler = text("sasl.server.callback.handler.class")
    is_unsecured = handler.endswith(UNSECURED_VALIDATOR)
    if not url and not is_unsecured:
        why = "OAUTHBEARER needs the keys of the issuer; unsecured tokens only by the name of their validator"
        raise ListenerSettingsError("sasl.oauthbearer.jwks.endpoint.url", why)
    return Oauth(
        is_unsecured and not url,
        url,
        tuple(part.strip() for part in text("sasl.oauthbearer.expected.audience").split(",") if part.strip()),
        text("sasl.oauthbearer.expected.issuer") or None,
        _whole(text("sasl.oauthbearer.clock.skew.seconds", "30")),
        text("sasl.oauthbearer.sub.claim.name", "sub"),
        _whole(text("sasl.oauthbearer.jwks.endpoint.refresh.ms", "3600000")) / 1000,
    )


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ListenerSettingsError("connections.max.reauth.ms", "a whole number is expected") from None
