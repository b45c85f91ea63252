"""The keys of a token issuer (JWKS): from a file, or from an address that a thread of its own asks again and
again. `security.jwks_refresh` says when."""

from __future__ import annotations

import json
import logging
import threading
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final, Protocol

import jwt

from penstock.clock import Clock
from penstock.security.jwks_refresh import JwksRefresh
from penstock.security.listener_settings import Oauth
from penstock.wire.direct_http import direct_opener
from penstock.wire.tls import client_context

FETCH_SECONDS: Final = 10.0
FIRST_KEYS_SECONDS: Final = 5.0
"""How long a token waits for keys that are being fetched."""
_MOST_BYTES: Final = 1_000_000

_log = logging.getLogger(__name__)


class Keys(Protocol):
    """Knows the key that a token names."""

    def key_of(self, token: str) -> Any:
        """ValueError, OSError or PyJWTError when there is none."""
        ...

    def close(self) -> None: ...


class FileKeys:
    """Keys in a file, which is read again each `refresh_seconds`."""

    def __init__(self, oauth: Oauth, clock: Clock) -> None:
        self._path = Path(urllib.parse.unquote(urllib.parse.urlparse(oauth.jwks_url).path))
        self._refresh_seconds = oauth.refresh_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: tuple[float, jwt.PyJWKSet] | None = None

    def key_of(self, token: str) -> Any:
        with self._lock:
            now = self._clock.monotonic()
            if self._kept is None or now >= self._kept[0] + self._refresh_seconds:
                self._kept = now, jwt.PyJWKSet.from_dict(json.loads(self._path.read_text()))
            keys = self._kept[1].keys
        found = _chosen(keys, token)
        if found is None:
            raise ValueError("no such key")
        return found

    def close(self) -> None:
        """There is nothing to end."""


class FetchedKeys:
    """Keys from an address. A fetch that fails is logged, and the old keys stay; before the first one every
    token is refused."""

    def __init__(self, oauth: Oauth, clock: Clock) -> None:
        self._url = oauth.jwks_url
        self._clock = clock
        self._opener = _opener(oauth)
        self._changed = threading.Condition()
        self._plan = JwksRefresh(
            clock.monotonic() * 1000,
            oauth.refresh_seconds * 1000,
            oauth.backoff_seconds * 1000,
            oauth.backoff_max_seconds * 1000,
        )
        self._keys: list[jwt.PyJWK] = []
        self._fetches = 0
        self._closed = False
        threading.Thread(target=self._run, name="jwks-refresh", daemon=True).start()

    def key_of(self, token: str) -> Any:
        with self._changed:
            found = _chosen(self._keys, token)
            if found is None and (self._plan.expedite(self._clock.monotonic() * 1000) or not self._fetches):
                self._changed.notify_all()
                before = self._fetches
                self._changed.wait_for(lambda: self._fetches > before or self._closed, FIRST_KEYS_SECONDS)
                found = _chosen(self._keys, token)
        if found is None:
            raise ValueError("no such key")
        return found

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while self._wait_until_due():
            try:
                keys = self._fetched()
            except (OSError, ValueError, jwt.PyJWTError) as error:
                _log.warning("the keys of %s cannot be fetched; the old ones stay: %s", self._url, error)
                self._finish(None)
            else:
                self._finish(keys)

    def _wait_until_due(self) -> bool:
        """False when it is time to end."""
        with self._changed:
            while not self._closed:
                seconds = self._plan.due_ms / 1000 - self._clock.monotonic()
                if seconds <= 0:
                    return True
                self._changed.wait(seconds)
            return False

    def _finish(self, keys: list[jwt.PyJWK] | None) -> None:
        with self._changed:
            now_ms = self._clock.monotonic() * 1000
            if keys is None:
                self._plan.failed(now_ms)
            else:
                self._keys = keys
                self._plan.succeeded(now_ms)
            self._fetches += 1
            self._changed.notify_all()

    def _fetched(self) -> list[jwt.PyJWK]:
        with self._opener.open(self._url, timeout=FETCH_SECONDS) as answer:
            data = answer.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"the answer has more than {_MOST_BYTES} bytes")
        return jwt.PyJWKSet.from_dict(json.loads(data)).keys


def _opener(oauth: Oauth) -> urllib.request.OpenerDirector:
    """Keys come from the address that the settings name, and from nowhere else. KeystoreError or OSError when
    the truststore of the JAAS options cannot be used."""
    return direct_opener(None if oauth.tls is None else client_context(oauth.tls))


def _chosen(keys: list[jwt.PyJWK], token: str) -> Any:
    """The key that a token names; the only key for a token that names none."""
    wanted = jwt.get_unverified_header(token).get("kid")
    for key in keys:
        if key.key_id == wanted or (wanted is None and len(keys) == 1):
            return key.key
    return None


def keys_of(oauth: Oauth, clock: Clock) -> Keys:
    """KeystoreError or OSError when the settings of TLS cannot be used."""
    return FileKeys(oauth, clock) if oauth.jwks_url.startswith("file:") else FetchedKeys(oauth, clock)
