"""Fetch sessions (KIP-227): what a client fetches is remembered, so that its next request names only what has
changed, and the answer only what is new.

Pure state, bounded in sessions and in partitions. `handlers.apis.fetch` asks `begin` what a request is about,
reads the partitions, and lets the `Fetching` decide what of it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from threading import Lock
from typing import Final

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.fetch import (
    UNKNOWN_OFFSET,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionAnswer,
    TopicAnswer,
)
from penstock.protocol.primitives import ZERO_UUID

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0  # of a request that names all its partitions and wants a session
FINAL_EPOCH: Final = -1  # of a request that names all its partitions and wants none
LAST_EPOCH: Final = 2**31 - 1
EVICTION_MS: Final = 120_000
MAX_CACHED_PARTITIONS: Final = 250_000  # of all sessions together, some 60 MB

Key = tuple[str | bytes, int]  # a topic's name, or from v13 on its id, and a partition


IsQuiet = Callable[[str | bytes, FetchPartition, int, int], bool]
"""Whether there is nothing to say of a partition: its topic, what is asked of it, and the high watermark
and log start offset that were told."""


class _Cached:
    """One partition of a session: what is asked of it, and what was told last."""

    __slots__ = ("high_watermark", "log_start_offset", "settled", "wanted")

    def __init__(self, wanted: FetchPartition) -> None:
        self.wanted = wanted
        self.settled = False  # answered without an error since it was last asked for
        self.high_watermark = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET

    def note(self, answer: PartitionAnswer) -> bool:
        """Remember what is told now. False when it says nothing new, and may be left out."""
        # After an error the partition is told again, whatever its high watermark is then; and so it is after
        # the word that logs have parted, of which nothing else is taken.
        failed = answer.error is not ErrorCode.NONE or answer.diverging is not None
        is_new = (
            answer.records is not None
            or failed
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
        )
        self.settled = not failed
        self.high_watermark = UNKNOWN_OFFSET if failed else answer.high_watermark
        self.log_start_offset = answer.log_start_offset
        return is_new


class FetchSession:
    """What one client fetches. Invariant: `partitions` are in the order in which they are served next."""

    __slots__ = (
        "by_id",
        "counted",
        "created_ms",
        "epoch",
        "id",
        "lock",
        "partitions",
        "privileged",
        "used_ms",
    )

    def __init__(self, id_: int, *, by_id: bool, privileged: bool, now_ms: int) -> None:
        self.id = id_
        self.by_id = by_id
        self.privileged = privileged  # belongs to a follower, whose fetches matter most
        self.created_ms = self.used_ms = now_ms
        self.epoch = INITIAL_EPOCH + 1  # that the next request must carry
        self.partitions: dict[Key, _Cached] = {}
        self.counted = 0  # partitions in the account of `FetchSessions`
        self.lock = Lock()  # two connections may use one session, though no client does

    def update(self, fetch: FetchRequest) -> None:
        """What a request adds, changes and forgets."""
        for topic in fetch.topics:
            name = _topic_key(topic, self.by_id)
            for wanted in topic.partitions:
                cached = self.partitions.get((name, wanted.partition))
                if cached is None:
                    self.partitions[name, wanted.partition] = _Cached(wanted)
                else:
                    cached.wanted = wanted
                    cached.settled = False
        for forgotten in fetch.forgotten:
            name = forgotten.topic_id if self.by_id else forgotten.name
            for index in forgotten.partitions:
                self.partitions.pop((name, index), None)

    def topics(self, is_quiet: IsQuiet = lambda *_: False) -> list[FetchTopic]:
        """All partitions but those that are quiet, neighbours of one topic together."""
        topics: list[FetchTopic] = []
        last: str | bytes | None = None
        for (name, _), cached in self.partitions.items():
            if cached.settled and is_quiet(
                name, cached.wanted, cached.high_watermark, cached.log_start_offset
            ):
                continue
            if name != last:
                topics.append(
                    FetchTopic("", name, []) if isinstance(name, bytes) else FetchTopic(name, ZERO_UUID, [])
                )
                last = name
            topics[-1].partitions.append(cached.wanted)
        return topics

    def news(self, answers: Sequence[TopicAnswer]) -> list[TopicAnswer]:
        """What of these answers is new. Partitions that gave records are served last the next time."""
        told = []
        for topic in answers:
            name = topic.topic_id if self.by_id else topic.name
            partitions = [
                answer for answer in topic.partitions if self._note((name, answer.partition), answer)
            ]
            if partitions:
                told.append(TopicAnswer(topic.name, topic.topic_id, partitions))
        return told

    def _note(self, key: Key, answer: PartitionAnswer) -> bool:
        cached = self.partitions.get(key)
        if cached is None:
            return False
        if answer.records is not None:
            self.partitions[key] = self.partitions.pop(key)
        return cached.note(answer)


class Fetching:
    """A request without a session: it is about what it names, and is told everything."""

    def __init__(self, topics: list[FetchTopic]) -> None:
        self.topics = topics

    def pending(self, is_quiet: IsQuiet) -> list[FetchTopic]:
        """What has to be read: in a follower's session, what is not quiet."""
        return self.topics

    def finish(self, answers: list[TopicAnswer], now_ms: int) -> tuple[int, list[TopicAnswer]]:
        """The session's id, and what is told. Raises KafkaError when the session was used meanwhile."""
        return NO_SESSION, answers

    def throttled(self) -> int:
        """The session's id in an answer without any partition."""
        return NO_SESSION


class _Opening(Fetching):
    """A request that names everything, and wants to name less the next time."""

    def __init__(self, sessions: FetchSessions, fetch: FetchRequest, *, by_id: bool) -> None:
        super().__init__(fetch.topics)
        self._sessions = sessions
        self._fetch = fetch
        self._by_id = by_id

    def finish(self, answers: list[TopicAnswer], now_ms: int) -> tuple[int, list[TopicAnswer]]:
        session = self._sessions.open(self._fetch, by_id=self._by_id, now_ms=now_ms)
        if session is None:
            return NO_SESSION, answers
        with session.lock:
            session.news(answers)
        return session.id, answers


class _Incremental(Fetching):
    """A request that names what has changed since the last one."""

    def __init__(self, session: FetchSession) -> None:
        super().__init__([] if session.privileged else session.topics())
        self._session = session
        self._epoch = session.epoch

    def pending(self, is_quiet: IsQuiet) -> list[FetchTopic]:
        return self._session.topics(is_quiet) if self._session.privileged else self.topics

    def finish(self, answers: list[TopicAnswer], now_ms: int) -> tuple[int, list[TopicAnswer]]:
        with self._session.lock:
            self._check_epoch()
            return self._session.id, self._session.news(answers)

    def throttled(self) -> int:
        with self._session.lock:
            self._check_epoch()
        return self._session.id

    def _check_epoch(self) -> None:
        if self._session.epoch != self._epoch:
            raise KafkaError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH, "The session was used by another request."
            )


class FetchSessions:
    """The sessions of a broker, at most `slots` of them. Threads may call it."""

    def __init__(self, slots: int, random: Random, max_partitions: int = MAX_CACHED_PARTITIONS) -> None:
        self._slots = slots
        self._random = random
        self._max_partitions = max_partitions
        self._lock = Lock()
        self._sessions: dict[int, FetchSession] = {}
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions(self) -> int:
        """How many partitions all sessions remember."""
        return self._partitions

    def begin(self, fetch: FetchRequest, *, by_id: bool, now_ms: int) -> Fetching:
        """What a request is about. Raises KafkaError with the error of the whole answer."""
        if fetch.session_id == NO_SESSION and fetch.session_epoch == FINAL_EPOCH:
            return Fetching(fetch.topics)
        with self._lock:
            if fetch.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
                self._remove(self._sessions.get(fetch.session_id))
                if fetch.session_epoch == FINAL_EPOCH:
                    return Fetching(fetch.topics)
                return _Opening(self, fetch, by_id=by_id)
            session = self._sessions.get(fetch.session_id)
            if session is None:
                raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return self._continue(session, fetch, by_id=by_id, now_ms=now_ms)

    def _continue(self, session: FetchSession, fetch: FetchRequest, *, by_id: bool, now_ms: int) -> Fetching:
        with session.lock:
            if session.epoch != fetch.session_epoch:
                raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            if session.by_id != by_id:
                raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
            session.update(fetch)
            if not session.partitions:
                self._remove(session)
                return Fetching(fetch.topics)
            self._count(session)
            if self._partitions > self._max_partitions:
                self._remove(session)
                raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            session.used_ms = now_ms
            session.epoch = INITIAL_EPOCH + 1 if session.epoch == LAST_EPOCH else session.epoch + 1
            return _Incremental(session)

    def open(self, fetch: FetchRequest, *, by_id: bool, now_ms: int) -> FetchSession | None:
        """A session for what `fetch` names; None when there is no room for it."""
        size = sum(len(topic.partitions) for topic in fetch.topics)
        privileged = fetch.replica_id >= 0
        with self._lock:
            if size == 0 or not self._make_room(size, privileged=privileged, now_ms=now_ms):
                return None
            session = FetchSession(self._new_id(), by_id=by_id, privileged=privileged, now_ms=now_ms)
            session.update(fetch._replace(forgotten=[]))
            self._sessions[session.id] = session
            self._count(session)
            return session

    def _make_room(self, size: int, *, privileged: bool, now_ms: int) -> bool:
        if self._partitions + size > self._max_partitions:
            return False
        return len(self._sessions) < self._slots or self._evict(size, privileged=privileged, now_ms=now_ms)

    def _evict(self, size: int, *, privileged: bool, now_ms: int) -> bool:
        """Kafka's rules: a session gives way when it is stale; to a follower when it is a consumer's; and
        when it is not quite new and has fewer partitions than the one that wants its place."""
        if not self._sessions:
            return False
        oldest = min(self._sessions.values(), key=lambda session: session.used_ms)
        if now_ms - oldest.used_ms > EVICTION_MS:
            self._remove(oldest)
            return True
        candidates = [
            session
            for session in self._sessions.values()
            if now_ms - session.created_ms > EVICTION_MS or (privileged and not session.privileged)
        ]
        if not candidates:
            return False
        least = min(candidates, key=_worth)
        if (privileged, size, 0) < _worth(least):
            return False
        self._remove(least)
        return True

    def _new_id(self) -> int:
        while True:
            id_ = self._random.randrange(1, 2**31)
            if id_ not in self._sessions:
                return id_

    def _count(self, session: FetchSession) -> None:
        self._partitions += len(session.partitions) - session.counted
        session.counted = len(session.partitions)

    def _remove(self, session: FetchSession | None) -> None:
        if session is not None and self._sessions.pop(session.id, None) is not None:
            self._partitions -= session.counted


def _worth(session: FetchSession) -> tuple[bool, int, int]:
    return session.privileged, session.counted, session.id


def _topic_key(topic: FetchTopic, by_id: bool) -> str | bytes:
    return topic.topic_id if by_id else topic.name
