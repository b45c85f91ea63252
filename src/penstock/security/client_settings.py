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
    "ssl.cipher.suites": "the cipher suites are OpenSSL's own",
    "sasl.client.callback.handler.class": "nothing of Java's runs here",
    "sasl.login.callback.handler.class": "give a token: sasl.jaas.config with the option token",
    "sasl.login.class": "nothing of Java's runs here",
    "sasl.kerberos.service.name": "GSSAPI is not spoken",
    "sasl.oauthbearer.token.endpoint.url": "give a token: sasl.jaas.config with the option token",
}


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


@dataclass(frozen=True, slots=True)
class Sasl:
    """How to prove who we are."""

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    """For OAUTHBEARER, the token."""
    extensions: tuple[tuple[str, str], ...] = ()
    """OAUTHBEARER's extensions, and `tokenauth` of SCRAM."""


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
    return Tls(store(properties, "ssl.truststore."), store(properties, "ssl.keystore."), algorithm == _HTTPS)


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
        path, pem, kind, properties.get(f"{prefix}password"), key, properties.get("ssl.key.password")
    )


def _sasl(properties: Mapping[str, str]) -> Sasl:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise ClientSettingsError(f"sasl.mechanism is {mechanism!r}: write one of {', '.join(MECHANISMS)}")
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
    return _from_jaas(mechanism, module)


def _from_jaas(mechanism: str, module: LoginModule) -> Sasl:
    expected = _MODULES[mechanism]
    if module.name != expected:
        raise ClientSettingsError(f"sasl.jaas.config names {module.name}, and {mechanism} needs {expected}")
    options = module.options
    if mechanism == "OAUTHBEARER":
        if "token" not in options:
            raise ClientSettingsError("sasl.jaas.config for OAUTHBEARER needs the option token")
        extensions = tuple(
            (name.removeprefix("extension_"), value)
            for name, value in options.items()
            if name.startswith("extension_")
        )
        return Sasl(mechanism, "", options["token"], extensions)
    if "username" not in options or "password" not in options:
        raise ClientSettingsError("sasl.jaas.config needs the options username and password")
    token = (("tokenauth", "true"),) if options.get("tokenauth", "").lower() == "true" else ()
    return Sasl(mechanism, options["username"], options["password"], token)
