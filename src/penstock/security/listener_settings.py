"""What the settings of a broker say of one listener's security: from Kafka's texts to one value.

A name is looked up as `listener.name.<listener>.<name>`, then as itself. What belongs to a mechanism is
looked up as `listener.name.<listener>.<mechanism>.<name>` before that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from penstock.security.client_settings import (
    MECHANISMS,
    ClientSettings,
    ClientSettingsError,
    Store,
    Tls,
    store,
)
from penstock.security.jaas import JaasError, LoginModule, parse_jaas
from penstock.security.kerberos_names import KerberosNames
from penstock.security.principal_mapping import PrincipalMapping
from penstock.security.tls_versions import EVERY_VERSION, TlsVersions, TlsVersionsError, tls_versions
from penstock.settings.security import OAUTH_ALLOWED_URLS

GSSAPI: Final = "GSSAPI"
OFFERED: Final = (*MECHANISMS, GSSAPI)
"""What a listener may offer; nodes and clients of ours cannot prove themselves by the last."""
_NAME_RULES: Final = "sasl.kerberos.principal.to.local.rules"
CLIENT_AUTH: Final = ("none", "requested", "required")
UNSECURED_VALIDATOR: Final = "OAuthBearerUnsecuredValidatorCallbackHandler"
JWKS_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
REAUTH: Final = "connections.max.reauth.ms"
_HANDLER: Final = "sasl.server.callback.handler.class"
_VALIDATORS: Final = {
    _HANDLER: (UNSECURED_VALIDATOR, ".OAuthBearerValidatorCallbackHandler"),
    "sasl.oauthbearer.jwt.validator.class": (".DefaultJwtValidator", ".BrokerJwtValidator"),
}
"""Kafka's own classes that check tokens, by the setting that names them."""
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
    versions: TlsVersions = EVERY_VERSION


@dataclass(frozen=True, slots=True)
class Oauth:
    """How tokens are believed."""

    is_unsecured: bool
    jwks_url: str
    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    skew_seconds: float = 30
    name_claim: str = "sub"
    scope_claim: str = "scope"
    refresh_seconds: float = 3600
    backoff_seconds: float = 0.1
    backoff_max_seconds: float = 10
    tls: Tls | None = None
    """How to reach an `https:` address; None for the authorities that the system knows."""


@dataclass(frozen=True, slots=True)
class Kerberos:
    """The service that clients ask their KDC for, and the file with its key."""

    principal: str
    """As `kafka/host@REALM`."""
    keytab: str
    names: KerberosNames = field(compare=False)


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
    kerberos: Kerberos | None = None


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
        if mechanism not in OFFERED:
            why = f"{mechanism} is not offered; write some of {', '.join(OFFERED)}"
            raise ListenerSettingsError("sasl.enabled.mechanisms", why)
    return ListenerSecurity(
        protocol,
        tls,
        mechanisms,
        _plain_passwords(own) if "PLAIN" in mechanisms else {},
        _oauth(own) if "OAUTHBEARER" in mechanisms else None,
        {name: _whole(REAUTH, own.of_mechanism(name, REAUTH, "0")) for name in mechanisms},
        _kerberos(own) if GSSAPI in mechanisms else None,
    )


def client_of_listener(
    texts: Mapping[str, str], listener: str, protocol: str, mechanism: str
) -> ClientSettings:
    """How this node reaches another one through a listener of this name: as its own listener is set up."""
    own = ListenerTexts(texts, listener)
    properties = {**own.merged(), "security.protocol": protocol}
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
    try:
        return ServerTls(identity, trust, client_auth, rules, tls_versions(texts))
    except TlsVersionsError as error:
        raise ListenerSettingsError(error.setting, str(error)) from None


def _kerberos(own: ListenerTexts) -> Kerberos:
    module = own.jaas(GSSAPI)
    options = {} if module is None else module.options
    principal, keytab = options.get("principal", ""), options.get("keyTab", "")
    if module is None or not module.name.endswith(".Krb5LoginModule") or not keytab or "@" not in principal:
        why = (
            "GSSAPI needs listener.name.<listener>.gssapi.sasl.jaas.config with Krb5LoginModule, "
            'useKeyTab=true, keyTab="…" and principal="kafka/host@REALM"'
        )
        raise ListenerSettingsError("sasl.jaas.config", why)
    service = own.of_mechanism(GSSAPI, "sasl.kerberos.service.name")
    if service and service != principal.partition("/")[0].partition("@")[0]:
        raise ListenerSettingsError("sasl.kerberos.service.name", f"the principal is {principal}")
    rules = own.of_mechanism(GSSAPI, _NAME_RULES, "DEFAULT")
    try:
        return Kerberos(principal, keytab, KerberosNames(rules, principal.rpartition("@")[2]))
    except ValueError as error:
        raise ListenerSettingsError(_NAME_RULES, str(error)) from None


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

    url = text(JWKS_URL)

    def number(name: str, default: str) -> int:
        return _whole(name, text(name, default))

    is_unsecured = _is_unsecured(text)
    if not url and not is_unsecured:
        why = "OAUTHBEARER needs the keys of the issuer; unsecured tokens only by the name of their validator"
        raise ListenerSettingsError(JWKS_URL, why)
    if url:
        _check_url(own, url)
    return Oauth(
        is_unsecured and not url,
        url,
        tuple(part.strip() for part in text("sasl.oauthbearer.expected.audience").split(",") if part.strip()),
        text("sasl.oauthbearer.expected.issuer") or None,
        number("sasl.oauthbearer.clock.skew.seconds", "30"),
        text("sasl.oauthbearer.sub.claim.name", "sub"),
        text("sasl.oauthbearer.scope.claim.name", "scope"),
        number("sasl.oauthbearer.jwks.endpoint.refresh.ms", "3600000") / 1000,
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "100") / 1000,
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", "10000") / 1000,
        _tls_of_jaas(own.jaas("OAUTHBEARER")),
    )


def _is_unsecured(text: Callable[[str], str]) -> bool:
    """Whether the settings name Kafka's validator of unsecured tokens. A class that is not Kafka's is
    refused: nothing else would check what it checks."""
    for name, known in _VALIDATORS.items():
        if text(name) and not text(name).endswith(known):
            why = "nothing of Java's runs here; Kafka's own validators are built in"
            raise ListenerSettingsError(name, why)
    return text(_HANDLER).endswith(UNSECURED_VALIDATOR)


def _check_url(own: ListenerTexts, url: str) -> None:
    """Kafka 4 has the addresses that may be asked in a property of the Java machine; here the setting of that
    name has them. Without it the address of the settings may be asked: nobody but the operator writes it."""
    scheme = urlsplit(url).scheme.lower()
    if scheme not in ("https", "http", "file"):
        raise ListenerSettingsError(JWKS_URL, "write an address that begins with https:, http: or file:")
    allowed = [part.strip() for part in own.get(OAUTH_ALLOWED_URLS).split(",") if part.strip()]
    if allowed and url not in allowed:
        raise ListenerSettingsError(
            JWKS_URL, f"{url} is not allowed. Update {OAUTH_ALLOWED_URLS} to allow it"
        )


def _tls_of_jaas(module: LoginModule | None) -> Tls | None:
    """The options `ssl.…` of the JAAS entry, as in Kafka; None when there are none."""
    options = {} if module is None else {k: v for k, v in module.options.items() if k.startswith("ssl.")}
    if not options:
        return None
    try:
        return ClientSettings.from_properties({**options, "security.protocol": "SSL"}).tls
    except ClientSettingsError as error:
        raise ListenerSettingsError("sasl.jaas.config", str(error)) from None


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ListenerSettingsError(name, "a whole number is expected") from None
