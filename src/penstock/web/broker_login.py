"""Passwords and tokens of callers, checked by the one that knows them: the broker.

A caller's credentials are tried on a connection of their own. What the broker has believed is believed for
`REMEMBERED_S` more, so that each request does not cost a login; a password that was changed is refused after
that. Credentials are remembered as a keyed hash only.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock.security.client_settings import ClientSettings, Sasl
from penstock.web.errors import HttpError
from penstock.web.threads import Threads
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import NotAuthenticated, WireError

REMEMBERED_S: Final = 20.0
MOST_REMEMBERED: Final = 10_000
LOGINS_AT_ONCE: Final = 16
LOGIN_WITHIN_S: Final = 10.0

Try = Callable[[Sasl], None]
"""Logs in; NotAuthenticated when the broker refuses, another WireError when none can be asked."""


class BrokerLogin:
    def __init__(self, try_login: Try, now: Callable[[], float] = time.monotonic) -> None:
        self._try = try_login
        self._now = now
        self._key = secrets.token_bytes(32)
        self._believed: OrderedDict[bytes, float] = OrderedDict()
        """Until when, by the hash of the credentials."""
        self._running: dict[bytes, asyncio.Future[bool]] = {}
        self._threads: Threads | None = None

    async def is_right(self, sasl: Sasl) -> bool:
        """Whether the broker lets these credentials in. HttpError 503 when no broker can be asked."""
        kept = self._hash(sasl)
        if self._believed.get(kept, 0.0) > self._now():
            self._believed.move_to_end(kept)
            return True
        running = self._running.get(kept)
        if running is None:  # a burst of requests with the same credentials is one login
            running = self._running[kept] = asyncio.ensure_future(self._ask(kept, sasl))
            running.add_done_callback(lambda _done: self._running.pop(kept, None))
        return await asyncio.shield(running)

    async def _ask(self, kept: bytes, sasl: Sasl) -> bool:
        self._threads = self._threads or Threads(LOGINS_AT_ONCE, "broker-login")
        try:
            await self._threads.call(self._try, sasl)
        except NotAuthenticated:
            self._believed.pop(kept, None)
            return False
        except WireError as error:
            raise HttpError(503, f"No broker can be asked who the caller is: {error}", 50301) from error
        self._believed[kept] = self._now() + REMEMBERED_S
        while len(self._believed) > MOST_REMEMBERED:
            self._believed.popitem(last=False)
        return True

    def _hash(self, sasl: Sasl) -> bytes:
        token = "" if sasl.login is None else sasl.login.token
        parts = (sasl.mechanism, sasl.username, sasl.password, token)
        text = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        return hmac.digest(self._key, text, hashlib.sha256)


def trying(bootstrap_servers: str, client: ClientSettings) -> Try:
    """Logins at the brokers of a service, over the service's own transport."""
    addresses = [Address.parse(text) for text in bootstrap_servers.split(",") if text.strip()]

    def login(sasl: Sasl) -> None:
        deadline, failure = Deadline(LOGIN_WITHIN_S), None
        for address in addresses:
            try:
                Connection(address, deadline, settings=replace(client, sasl=sasl)).close()
            except NotAuthenticated:
                raise
            except WireError as error:
                failure = error
            else:
                return
        if failure is not None:
            raise failure

    return login
