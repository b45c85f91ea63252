"""Versions and cipher suites of TLS, in Java's names."""

from __future__ import annotations

import ssl

import pytest

from penstock.security.listener_settings import ListenerSettingsError, listener_security
from penstock.security.tls_versions import (
    SUITES_OF_TLS_1_2,
    SUITES_OF_TLS_1_3,
    TlsVersions,
    TlsVersionsError,
    tls_versions,
)

ALL_NEW = ",".join(SUITES_OF_TLS_1_3)
OLD = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
OLD_NAMES = "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305"


@pytest.mark.parametrize(
    ("protocols", "suites", "expected"),
    [
        ("", "", TlsVersions(True, True)),
        ("TLSv1.3", "", TlsVersions(False, True)),
        (" TLSv1.2 , TLSv1.3", "", TlsVersions(True, True)),
        ("TLSv1.2", "", TlsVersions(True, False)),
        ("", OLD, TlsVersions(True, False, OLD_NAMES)),
        ("", ALL_NEW, TlsVersions(False, True)),
        ("", f"{OLD},{ALL_NEW}", TlsVersions(True, True, OLD_NAMES)),
        ("TLSv1.2", f"{OLD},{ALL_NEW}", TlsVersions(True, False, OLD_NAMES)),
        ("TLSv1.3", f"{OLD},{ALL_NEW}", TlsVersions(False, True)),
        ("TLSv1.2", f"{OLD},TLS_AES_128_GCM_SHA256", TlsVersions(True, False, OLD_NAMES)),
    ],
)
def test_suites_decide_with_the_protocols_what_is_spoken(
    protocols: str, suites: str, expected: TlsVersions
) -> None:
    assert tls_versions({"ssl.enabled.protocols": protocols, "ssl.cipher.suites": suites}) == expected


@pytest.mark.parametrize(
    ("protocols", "suites", "told"),
    [
        ("TLSv1.1,TLSv1.2", "", "TLSv1.1 is broken"),
        ("TLS", "", "'TLS' is not known"),
        ("", "TLS_AES_256_GCM_SHA384", "chosen together"),
        ("", "TLS_RSA_WITH_RC4_128_MD5", "unknown, or too weak"),
        ("TLSv1.2", ALL_NEW, "no suite belongs to a version"),
        ("TLSv1.3", OLD, "no suite belongs to a version"),
    ],
)
def test_what_cannot_be_honoured_is_refused(protocols: str, suites: str, told: str) -> None:
    with pytest.raises(TlsVersionsError, match=told):
        tls_versions({"ssl.enabled.protocols": protocols, "ssl.cipher.suites": suites})
    texts = {"ssl.keystore.location": "x", "ssl.enabled.protocols": protocols, "ssl.cipher.suites": suites}
    with pytest.raises(ListenerSettingsError, match=told):
        listener_security(texts, "A", "SSL")


def test_openssl_knows_every_suite_that_may_be_named() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL")
    known = {one["name"] for one in context.get_ciphers()}
    assert set(SUITES_OF_TLS_1_2.values()) <= known
    assert set(SUITES_OF_TLS_1_3) <= known
