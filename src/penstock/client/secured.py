"""Kafka's security settings as librdkafka wants them: one translation for every client of ours.

Stores become PEM in memory, whatever they were kept in. Names of librdkafka's own pass through. Called
by `librdkafka.Connection` and by `api.settings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.client.errors import InvalidValue
from penstock.security.client_settings import ClientSettings, ClientSettingsError, Sasl, Tls
from penstock.security.jaas import OAUTH_MODULE
from penstock.security.keystores import KeystoreError

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
JAVA_NAMES: Final = frozenset(
    {
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "ssl.truststore.certificates",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
    }
)
"""Settings of Java's client: one of them gives the whole set Java's meaning."""
SHARED_NAMES: Final = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
    }
)
"""Names that both know; in Java's set they have Java's meaning."""


def is_java(given: Mapping[str, Any]) -> bool:
    return not JAVA_NAMES.isdisjoint(given)


def acting_as(given: Mapping[str, Any], sasl: Sasl) -> dict[str, Any]:
    """The same way to the brokers with the credentials of somebody else: nothing of the old ones is left.
    ClientSettingsError for a token that is none."""
    kept = {name: value for name, value in given.items() if not name.startswith("sasl.")}
    protocol = str(kept.get("security.protocol", "PLAINTEXT")).strip().upper()
    own: dict[str, Any] = {
        "security.protocol": "SASL_SSL" if protocol.endswith("SSL") else "SASL_PLAINTEXT",
        "sasl.mechanism": sasl.mechanism,
    }
    if sasl.login is None:
        return {**kept, **own, "sasl.username": sasl.username, "sasl.password": sasl.password}
    if not _TOKEN.fullmatch(sasl.login.token):
        raise ClientSettingsError("the token has characters that no token has")
    return {**kept, **own, "sasl.jaas.config": f'{OAUTH_MODULE} required token="{sasl.login.token}";'}


def library_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings under librdkafka's names. InvalidValue says which cannot be honoured, and why."""
    if not is_java(given):
        return dict(given)
    rest = {name: value for name, value in given.items() if name not in JAVA_NAMES | SHARED_NAMES}
    try:
        settings = ClientSettings.from_properties({name: str(value) for name, value in given.items()})
        return rest | translated(settings)
    except (ClientSettingsError, KeystoreError) as error:
        raise InvalidValue(f"{error}.") from None
    except OSError as error:
        raise InvalidValue(f"{error.filename} cannot be read: {error.strerror}.") from None


def translated(settings: ClientSettings) -> dict[str, Any]:
    """Raises KeystoreError and OSError for stores that cannot be used."""
    found: dict[str, Any] = {"security.protocol": settings.security_protocol}
    if settings.tls is not None:
        found |= _tls(settings.tls)
    if settings.sasl is not None:
        found |= _sasl(settings.sasl)
    return found


def _tls(tls: Tls) -> dict[str, Any]:
    from penstock.wire.tls import identity_of, trusted_of  # here: a client without TLS starts sooner

    found = {"ssl.endpoint.identification.algorithm": "https" if tls.check_hostname else "none"}
    if tls.trust is not None:
        found["ssl.ca.pem"] = trusted_of(tls.trust).decode("ascii", "replace")
    if tls.identity is not None:
        identity = identity_of(tls.identity)
        found["ssl.certificate.pem"] = identity.chain.decode("ascii", "replace")
        found["ssl.key.pem"] = identity.key.decode("ascii", "replace")
        if identity.key_password is not None:
            found["ssl.key.password"] = identity.key_password.decode()
    return found


def _sasl(sasl: Sasl) -> dict[str, Any]:
    found: dict[str, Any] = {"sasl.mechanism": sasl.mechanism}
    if sasl.login is not None:
        return {**found, "oauth_cb": _token_source(sasl)}
    if dict(sasl.extensions).get("tokenauth"):
        raise ClientSettingsError(
            "sasl.jaas.config has tokenauth=true, and librdkafka cannot use delegation tokens. Give a "
            "password, or use one of the kafka-… commands"
        )
    return {**found, "sasl.username": sasl.username, "sasl.password": sasl.password}


def _token_source(sasl: Sasl) -> Callable[[str], tuple[str, float, str, dict[str, str]]]:
    """librdkafka's call-back; what it raises becomes the reason of the error."""

    def fetch(_config: str) -> tuple[str, float, str, dict[str, str]]:
        from penstock.wire.oauth_tokens import token_for

        assert sasl.login is not None
        token = token_for(sasl.login)
        return token.text, token.expires_s, token.name, dict(sasl.extensions)

    return fetch
