"""A TLS context of a client from its settings. Files are read here; `security.keystores` knows their
content."""

from __future__ import annotations

import os
import ssl
import tempfile
from functools import lru_cache
from pathlib import Path

from penstock.security.client_settings import Store, Tls
from penstock.security.keystores import Identity, KeystoreError, read_identity, read_trusted
from penstock.security.tls_versions import TlsVersions
from penstock.wire.java_stores import as_pkcs12, is_java_store


@lru_cache(maxsize=64)
def client_context(tls: Tls) -> ssl.SSLContext:
    """TLS 1.2 and 1.3. KeystoreError when a store cannot be used; OSError when it cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    restrict(context, tls.versions)
    context.check_hostname = tls.check_hostname
    if tls.trust is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        trusted = trusted_of(tls.trust)
        context.load_verify_locations(cadata=trusted.decode("ascii", "replace"))
    if tls.identity is not None:
        load_identity(context, identity_of(tls.identity))
    return context


def content_of(store: Store) -> bytes:
    if store.pem is not None:
        return store.pem.encode()
    assert store.path is not None, "a store is a file or PEM"
    return Path(store.path).read_bytes()


def identity_of(store: Store) -> Identity:
    data, key = content_of(store), store.key_pem.encode() if store.key_pem is not None else b""
    if is_java_store(data):
        copy = as_pkcs12(data, store.password, store.key_password, store.path)
        return read_identity(copy.data, copy.password, None)
    return read_identity(data, store.password, store.key_password, key, path=store.path)


def trusted_of(store: Store) -> bytes:
    """The certificates of a truststore, in PEM."""
    data = content_of(store)
    if is_java_store(data):
        return read_trusted(*as_pkcs12(data, store.password, None, store.path))
    return read_trusted(data, store.password, path=store.path)


def restrict(context: ssl.SSLContext, versions: TlsVersions) -> None:
    """Speak these versions and cipher suites only."""
    v1_2, v1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    context.minimum_version = v1_2 if versions.has_1_2 else v1_3
    context.maximum_version = v1_3 if versions.has_1_3 else v1_2
    if versions.ciphers:
        context.set_ciphers(versions.ciphers)


def load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Python's `ssl` takes a chain from files only: they live for this call, readable by this user alone."""
    with tempfile.TemporaryDirectory(prefix="penstock-tls-") as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        for path, content in ((chain, identity.chain), (key, identity.key)):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        try:
            context.load_cert_chain(chain, key, password=lambda: identity.key_password or b"")
        except ssl.SSLError as error:
            raise KeystoreError(f"the certificate or its key cannot be used ({error.reason})") from None
