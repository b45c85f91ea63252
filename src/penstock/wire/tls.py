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


@lru_cache(maxsize=64)
def client_context(tls: Tls) -> ssl.SSLContext:
    """TLS 1.2 and 1.3. KeystoreError when a store cannot be used; OSError when it cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = tls.check_hostname
    if tls.trust is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        trusted = read_trusted(content_of(tls.trust), tls.trust.password)
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
    key = store.key_pem.encode() if store.key_pem is not None else b""
    return read_identity(content_of(store), store.password, store.key_password, key)


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
