"""Sessions of people who have logged in: in memory, bounded, ended by time. Pure; `gate` asks it.

A browser holds a random token in a cookie; here only its hash is kept. A session ends when nothing was asked
in it for `IDLE_S`, after `LONGEST_S` at the latest, and when its person logs out.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.web.callers import Caller

IDLE_S: Final = 30 * 60.0
LONGEST_S: Final = 12 * 3600.0
SESSIONS_MAX: Final = 1_000
FAILURES_MAX: Final = 10
"""Wrong passwords from one address within `FAILURES_S`; more are refused without being tried."""
FAILURES_S: Final = 60.0
_HOSTS_MAX: Final = 10_000


@dataclass(slots=True)
class Session:
    caller: Caller
    began: float
    used: float

    def is_over(self, now: float) -> bool:
        return now >= self.used + IDLE_S or now >= self.began + LONGEST_S


class Sessions:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: OrderedDict[bytes, Session] = OrderedDict()
        """By the hash of the token, the one that was used longest ago first."""

    def begin(self, caller: Caller) -> str:
        """The token of a new session."""
        token, now = secrets.token_urlsafe(32), self._now()
        self._kept[_hash(token)] = Session(caller, now, now)
        while len(self._kept) > SESSIONS_MAX:
            self._kept.popitem(last=False)
        return token

    def find(self, token: str, *, touch: bool = True) -> Session | None:
        """The session of a token, if it is not over. `touch` counts as being used."""
        key, now = _hash(token), self._now()
        session = self._kept.get(key)
        if session is None:
            return None
        if session.is_over(now):
            del self._kept[key]
            return None
        if touch:
            session.used = now
            self._kept.move_to_end(key)
        return session

    def end(self, token: str) -> None:
        self._kept.pop(_hash(token), None)

    def __len__(self) -> int:
        return len(self._kept)


class Failures:
    """Wrong passwords by address, so that a program cannot try many."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._by_host: OrderedDict[str, list[float]] = OrderedDict()

    def note(self, host: str) -> None:
        recent = [*self._recent(host), self._now()]
        self._by_host[host] = recent[-FAILURES_MAX:]
        self._by_host.move_to_end(host)
        while len(self._by_host) > _HOSTS_MAX:
            self._by_host.popitem(last=False)

    def are_too_many(self, host: str) -> bool:
        return len(self._recent(host)) >= FAILURES_MAX

    def _recent(self, host: str) -> list[float]:
        after = self._now() - FAILURES_S
        return [moment for moment in self._by_host.get(host, []) if moment > after]


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
