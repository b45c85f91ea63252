"""`ssl.enabled.protocols` and `ssl.cipher.suites`: Java's names as what OpenSSL understands. Pure.

Python's `ssl` cannot choose among the cipher suites of TLS 1.3, which are three good ones. So a list holds
all three of them, and TLS 1.3 is spoken, or none, and it is not. Any other list is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

TLS_1_2: Final = "TLSv1.2"
TLS_1_3: Final = "TLSv1.3"
SUITES_OF_TLS_1_3: Final = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
)
_OLD: Final = ("SSLv3", "TLSv1", "TLSv1.1")
_KEYS: Final = {
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "DHE_RSA": "DHE-RSA-",
    "RSA": "",
}
_CIPHERS: Final = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA384": "AES256-SHA384",
    "AES_256_CBC_SHA256": "AES256-SHA256",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
}
_UNDEFINED: Final = frozenset(
    {
        ("RSA", "CHACHA20_POLY1305_SHA256"),
        ("RSA", "AES_256_CBC_SHA384"),
        ("DHE_RSA", "AES_256_CBC_SHA384"),
        ("ECDHE_RSA", "AES_256_CBC_SHA256"),
        ("ECDHE_ECDSA", "AES_256_CBC_SHA256"),
    }
)
"""Pairs that no suite consists of."""
SUITES_OF_TLS_1_2: Final = {
    f"TLS_{key}_WITH_{cipher}": _KEYS[key] + _CIPHERS[cipher]
    for key in _KEYS
    for cipher in _CIPHERS
    if (key, cipher) not in _UNDEFINED
}
"""OpenSSL's name of each suite: `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is ECDHE-RSA-AES256-GCM-SHA384."""


class TlsVersionsError(ValueError):
    """`setting` cannot be honoured."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


class TlsVersions(NamedTuple):
    """What may be spoken. One of the two versions is, at least."""

    has_1_2: bool = True
    has_1_3: bool = True
    ciphers: str = ""
    """Of TLS 1.2, in OpenSSL's names with colons between them; empty for OpenSSL's own choice."""


EVERY_VERSION: Final = TlsVersions()


def tls_versions(properties: Mapping[str, str]) -> TlsVersions:
    """TlsVersionsError for what cannot be honoured."""
    protocols = _items(properties, "ssl.enabled.protocols") or [TLS_1_2, TLS_1_3]
    for protocol in protocols:
        if protocol in _OLD:
            raise TlsVersionsError("ssl.enabled.protocols", f"{protocol} is broken and not spoken")
        if protocol not in (TLS_1_2, TLS_1_3):
            why = f"{protocol!r} is not known; write {TLS_1_2}, {TLS_1_3} or both"
            raise TlsVersionsError("ssl.enabled.protocols", why)
    suites = _items(properties, "ssl.cipher.suites")
    if not suites:
        return TlsVersions(TLS_1_2 in protocols, TLS_1_3 in protocols)
    newer = [suite for suite in suites if suite in SUITES_OF_TLS_1_3]
    older = [_openssl_name(suite) for suite in suites if suite not in SUITES_OF_TLS_1_3]
    has_1_2, has_1_3 = bool(older) and TLS_1_2 in protocols, bool(newer) and TLS_1_3 in protocols
    if has_1_3 and set(newer) != set(SUITES_OF_TLS_1_3):
        why = (
            f"the suites of TLS 1.3 are chosen together: write all of {', '.join(SUITES_OF_TLS_1_3)}, or none"
        )
        raise TlsVersionsError("ssl.cipher.suites", why)
    if not has_1_2 and not has_1_3:
        raise TlsVersionsError("ssl.cipher.suites", "no suite belongs to a version of ssl.enabled.protocols")
    return TlsVersions(has_1_2, has_1_3, ":".join(older) if has_1_2 else "")


def _items(properties: Mapping[str, str], name: str) -> list[str]:
    return [item.strip() for item in properties.get(name, "").split(",") if item.strip()]


def _openssl_name(suite: str) -> str:
    name = SUITES_OF_TLS_1_2.get(suite)
    if name is None:
        raise TlsVersionsError("ssl.cipher.suites", f"{suite!r} is unknown, or too weak to be offered")
    return name
