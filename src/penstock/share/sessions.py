"""Share sessions: what a member fetches from this broker, remembered between its requests.

A session is opened by epoch 0, goes on with 1, 2, 3 …, and is closed by epoch -1.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode, KafkaError

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
LAST_EPOCH: Final = 2**31 - 1
IDLE_SECONDS: Final = 120.0
"""A session of which nothing was heard for so long gives way to a new one."""

Place = tuple[bytes, int]
"""Topic id and partition."""


class SessionKey(NamedTuple):
    group_id: str
    member_id: str


class ShareSession:
    __slots__ = ("epoch", "places", "used")

    def __init__(self, now: float) -> None:
        self.epoch = INITIAL_EPOCH + 1
        self.places: dict[Place, None] = {}
        self.used = now


class ShareSessions:
    """The sessions of a broker, at most `most`. Threads may call it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._sessions: dict[SessionKey, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def fetch(
        self, key: SessionKey, epoch: int, added: Iterable[Place], forgotten: Iterable[Place], now: float
    ) -> list[Place]:
        """The partitions of the session: those that the request fetches or, if it closes the session, those
        that it gives back."""
        with self._lock:
            if epoch == INITIAL_EPOCH:
                session = self._open(key, now)
            else:
                session = self._next(key, epoch, now)
            for place in added:
                session.places[place] = None
            for place in forgotten:
                session.places.pop(place, None)
            places = list(session.places)
            if places:  # the next request begins with another partition, so that each has its turn
                first = places[0]
                del session.places[first]
                session.places[first] = None
            return places

    def acknowledge(self, key: SessionKey, epoch: int, now: float) -> list[Place]:
        """A request that only acknowledges goes on with the session, or closes it. The partitions of the
        session."""
        with self._lock:
            if epoch == INITIAL_EPOCH:
                raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH, "A session is opened by ShareFetch.")
            return list(self._next(key, epoch, now).places)

    def _open(self, key: SessionKey, now: float) -> ShareSession:
        self._sessions.pop(key, None)
        if len(self._sessions) >= self._most:
            self._forget_idle(now)
        if len(self._sessions) >= self._most:
            raise KafkaError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"This broker has {self._most} share sessions (group.share.max.share.sessions).",
            )
        session = self._sessions[key] = ShareSession(now)
        return session

    def _next(self, key: SessionKey, epoch: int, now: float) -> ShareSession:
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND, "The share session is not known.")
        if epoch == FINAL_EPOCH:
            del self._sessions[key]
            return session
        if epoch != session.epoch:
            raise KafkaError(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH,
                f"The share session is in epoch {session.epoch}, not {epoch}.",
            )
        session.epoch = INITIAL_EPOCH + 1 if epoch == LAST_EPOCH else epoch + 1
        session.used = now
        return session

    def _forget_idle(self, now: float) -> None:
        idle = [key for key, session in self._sessions.items() if now - session.used > IDLE_SECONDS]
        for key in idle:
            del self._sessions[key]
