"""How a client reaches a cluster: addresses, credentials and TLS in one frozen value.

`from_properties` reads Kafka's own names (`security.protocol`, `ssl.…`, `sasl.…`), so that a file
`client.properties` works unchanged. The value goes through `wire`, Spark and Streams; it can be pickled to
workers and is a key of a dictionary. No `repr` shows a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.security.jaas import (
    OAUTH_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    JaasError,
    LoginModule,
    parse_jaas,
)
from penstock.security.oauth_login import OauthLogin, oauth_login
from penstock.security.tls_versions import EVERY_VERSION, TlsVersions, TlsVersionsError, tls_versions

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_MODULES: Final = {
    "PLAIN": PLAIN_MODULE,
    "SCRAM-SHA-256": SCRAM_MODULE,
    "SCRAM-SHA-512": SCRAM_MODULE,
    "OAUTHBEARER": OAUTH_MODULE,
}
_HTTPS: Final = "https"
_UNSUPPORTED: Final = {
    "ssl.provider": "there is one provider of TLS, OpenSSL",
    "ssl.engine.factory.class": "nothing of Java's runs here",
    "ssl.trustmanager.algorithm": "OpenSSL checks certificates",
    "ssl.keymanager.algorithm": "OpenSSL keeps the keys",
    "ssl.secure.random.implementation": "OpenSSL has its own",
    "sasl.client.callback.handler.class": "nothing of Java's runs here",
    "sasl.login.class": "nothing of Java's runs here",
    "sasl.kerberos.service.name": "GSSAPI is not spoken",
}


_LOGIN_HANDLERS: Final = ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler")
"""Kafka's own classes that get a token. Their settings say the same, so a name changes nothing here."""


class ClientSettingsError(ValueError):
    """A setting that cannot be honoured. The message names it and never shows a secret."""


@dataclass(frozen=True, slots=True)
class Store:
    """A keystore or a truststore: a file, or PEM in the settings themselves."""

    path: str | None = None
    pem: str | None = field(default=None, repr=False)
    kind: str = ""
    """`PEM`, `PKCS12` or `JKS`; empty when the content is to tell."""
    password: str | None = field(default=None, repr=False)
    key_pem: str | None = field(default=None, repr=False)
    """The private key, where it is given beside the certificate chain."""
    key_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Tls:
    """How to speak TLS."""

    trust: Store | None = None
    """Whose certificates are believed; None for the authorities that the system knows."""
    identity: Store | None = None
    """Our own certificate and key, for servers that want one."""
    check_hostname: bool = True
    versions: TlsVersions = EVERY_VERSION


@dataclass(frozen=True, slots=True)
class Sasl:
    """How to prove who we are."""

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    extensions: tuple[tuple[str, str], ...] = ()
    """OAUTHBEARER's extensions, and `tokenauth` of SCRAM."""
    login: OauthLogin | None = None
    """Where OAUTHBEARER's tokens come from."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Everything that a connection needs but the broker's own address."""

    bootstrap_servers: str = ""
    client_id: str = "penstock"
    tls: Tls | None = None
    sasl: Sasl | None = None

    @property
    def security_protocol(self) -> str:
        return PROTOCOLS[(1 if self.tls else 0) + (2 if self.sasl else 0)]

    @classmethod
    def from_properties(
        cls,
        properties: Mapping[str, str],
        *,
        bootstrap_servers: str | None = None,
        client_id: str | None = None,
    ) -> ClientSettings:
        """From Kafka's settings of a client; names that are not about the connection are passed over.
        ClientSettingsError for what cannot be honoured."""
        protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
        if protocol not in PROTOCOLS:
            raise ClientSettingsError(
                f"security.protocol is {protocol!r}: write one of {', '.join(PROTOCOLS)}"
            )
        for name, why in _UNSUPPORTED.items():
            if properties.get(name, "").strip():
                raise ClientSettingsError(f"{name} cannot be honoured: {why}. Leave it out")
        return cls(
            bootstrap_servers=bootstrap_servers or properties.get("bootstrap.servers", ""),
            client_id=client_id or properties.get("client.id") or "penstock",
            tls=_tls(properties) if protocol in ("SSL", "SASL_SSL") else None,
            sasl=_sasl(properties) if protocol.startswith("SASL_") else None,
        )


def _tls(properties: Mapping[str, str]) -> Tls:
    algorithm = properties.get("ssl.endpoint.identification.algorithm", _HTTPS).strip().lower()
    if algorithm not in (_HTTPS, ""):
        raise ClientSettingsError(
            f"ssl.endpoint.identification.algorithm is {algorithm!r}: write https, or nothing"
        )
    try:
        versions = tls_versions(properties)
    except TlsVersionsError as error:
        raise ClientSettingsError(f"{error.setting} cannot be honoured: {error}") from None
    trust, identity = store(properties, "ssl.truststore."), store(properties, "ssl.keystore.")
    return Tls(trust, identity, algorithm == _HTTPS, versions)


def store(properties: Mapping[str, str], prefix: str) -> Store | None:
    """`ssl.truststore.…` or `ssl.keystore.…`; None when nothing is set."""
    path = properties.get(f"{prefix}location") or None
    pem = (
        properties.get(f"{prefix}certificates" if "trust" in prefix else f"{prefix}certificate.chain") or None
    )
    key = None if "trust" in prefix else properties.get(f"{prefix}key") or None
    if path is None and pem is None:
        return None
    if path is not None and pem is not None:
        raise ClientSettingsError(f"{prefix}location and PEM in the settings exclude each other")
    kind = properties.get(f"{prefix}type", "").strip().upper()
    if kind not in ("", "PEM", "PKCS12", "JKS"):
        raise ClientSettingsError(f"{prefix}type is {kind!r}: write PEM, PKCS12 or JKS")
    return Store(
        path,
        pem,
        kind,
        _password(properties, f"{prefix}password"),
        key,
        _password(properties, "ssl.key.password"),
    )


def _password(properties: Mapping[str, str], name: str) -> str | None:
    """Without blanks around it, as Kafka reads passwords: a file that holds one often ends with a newline."""
    text = properties.get(name)
    return None if text is None else text.strip()


def _sasl(properties: Mapping[str, str]) -> Sasl:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise ClientSettingsError(f"sasl.mechanism is {mechanism!r}: write one of {', '.join(MECHANISMS)}")
    handler = properties.get("sasl.login.callback.handler.class", "").strip()
    if handler and not handler.endswith(_LOGIN_HANDLERS):
        raise ClientSettingsError(
            f"sasl.login.callback.handler.class cannot be honoured: {handler} is of Java. Leave it out"
        )
    text = properties.get("sasl.jaas.config", "")
    if not text:
        name, password = properties.get("sasl.username"), properties.get("sasl.password")
        if name is None or password is None:
            raise ClientSettingsError("sasl.jaas.config is missing: it holds the credentials")
        return Sasl(mechanism, name, password)
    try:
        module = parse_jaas(text)
    except JaasError as error:
        raise ClientSettingsError(f"sasl.jaas.config: {error}") from None
    return _from_jaas(mechanism, module, properties)


def _from_jaas(mechanism: str, module: LoginModule, properties: Mapping[str, str]) -> Sasl:
    expected = _MODULES[mechanism]
    if module.name != expected:
        raise ClientSettingsError(f"sasl.jaas.config names {module.name}, and {mechanism} needs {expected}")
    options = module.options
    if mechanism == "OAUTHBEARER":
        login = oauth_login(properties, options)
        if isinstance(login, str):
            raise ClientSettingsError(login)
        extensions = tuple(
            (name.removeprefix("extension_"), value)
            for name, value in options.items()
            if name.startswith("extension_")
        )
        return Sasl(mechanism, extensions=extensions, login=login)
    if "username" not in options or "password" not in options:
        raise ClientSettingsError("sasl.jaas.config needs the options username and password")
    token = (("tokenauth", "true"),) if options.get("tokenauth", "").lower() == "true" else ()
    return Sasl(mechanism, options["username"], options["password"], token)
