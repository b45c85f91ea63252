"""TLS on the server's side: the context of a listener, for brokers and for HTTP services.

A certificate that is replaced on disk is used by the next connection; those that are open keep theirs.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final

from penstock.clock import Clock
from penstock.security.client_settings import Store
from penstock.security.keystores import KeystoreError
from penstock.security.listener_settings import ServerTls
from penstock.security.principal_mapping import PrincipalMapping
from penstock.security.principals import ANONYMOUS, Principal, user
from penstock.wire.tls import identity_of, load_identity, restrict, trusted_of

LOOK_SECONDS: Final = 1.0  # how often it is looked whether a store has been replaced
_VERIFY: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}

_log = logging.getLogger(__name__)


class ServerContext:
    """The TLS context of a listener, made anew when its stores change. KeystoreError or OSError at the first
    one; later ones that cannot be used leave the old one in place."""

    def __init__(self, tls: ServerTls, clock: Clock, alpn: Sequence[str] = ()) -> None:
        """`alpn` are the protocols to choose from inside of TLS; Kafka's has none."""
        self._tls = tls
        self._clock = clock
        self._alpn = list(alpn)
        self._mapping = PrincipalMapping(tls.mapping_rules)
        self._lock = Lock()
        self._seen = self._stamps()
        self._context = self._made()
        self._next_look = clock.monotonic() + LOOK_SECONDS

    def current(self) -> ssl.SSLContext:
        """One connection looks, and waits for a store that takes long to read; others use what there is."""
        if self._clock.monotonic() >= self._next_look and self._lock.acquire(blocking=False):
            try:
                self._look()
                self._next_look = self._clock.monotonic() + LOOK_SECONDS
            finally:
                self._lock.release()
        return self._context

    def principal_of(self, certificate: bytes | None) -> Principal:
        """ValueError when no rule gives the name of a certificate a user."""
        if certificate is None:
            return ANONYMOUS
        from cryptography import x509

        name = x509.load_der_x509_certificate(certificate).subject.rfc4514_string()
        return user(self._mapping.name_of(name))

    def _look(self) -> None:
        try:
            stamps = self._stamps()
            if stamps != self._seen:
                self._context = self._made()
                self._seen = stamps
                _log.info("certificates were replaced: new connections use them")
        except (KeystoreError, OSError, ssl.SSLError) as error:
            _log.error("certificates were replaced and cannot be used; the old ones stay: %s", error)

    def _stamps(self) -> tuple[object, ...]:
        stores = [store for store in (self._tls.identity, self._tls.trust) if store is not None]
        return tuple(_stamp(store) for store in stores)

    def _made(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        restrict(context, self._tls.versions)
        context.verify_mode = _VERIFY[self._tls.client_auth]
        load_identity(context, identity_of(self._tls.identity))
        if self._tls.trust is not None:
            trusted = trusted_of(self._tls.trust).decode("ascii", "replace")
            context.load_verify_locations(cadata=trusted)
        if self._alpn:
            context.set_alpn_protocols(self._alpn)
        return context


def _stamp(store: Store) -> object:
    if store.path is None:
        return store.pem
    found = Path(store.path).stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
