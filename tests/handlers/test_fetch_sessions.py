"""Fetch sessions against a model: what a client puts together from increments is what a full answer says."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.handlers.fetching.sessions import (
    EVICTION_MS,
    FINAL_EPOCH,
    LAST_EPOCH,
    NO_SESSION,
    FetchSessions,
)
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionAnswer,
    TopicAnswer,
)
from penstock.protocol.primitives import ZERO_UUID

Place = tuple[str, int]
PLACES = [(topic, index) for topic in ("a", "b", "c") for index in range(2)]
NOBODY = -1


class Slice(NamedTuple):
    size: int


@dataclass
class State:
    """A partition as the broker has it."""

    high_watermark: int = 0
    log_start_offset: int = 0
    error: ErrorCode = ErrorCode.NONE


class ModelBroker:
    """Answers a fetch in full: nothing is left out here."""

    def __init__(self) -> None:
        self.partitions = {place: State() for place in PLACES}

    def answers(self, topics: list[FetchTopic]) -> list[TopicAnswer]:
        return [
            TopicAnswer(topic.name, ZERO_UUID, [self.answer(topic.name, want) for want in topic.partitions])
            for topic in topics
        ]

    def answer(self, topic: str, wanted: FetchPartition) -> PartitionAnswer:
        state = self.partitions[topic, wanted.partition]
        if state.error is not ErrorCode.NONE:
            return PartitionAnswer(wanted.partition, state.error)
        size = state.high_watermark - wanted.fetch_offset
        ends = state.high_watermark, state.high_watermark, state.log_start_offset
        return PartitionAnswer(wanted.partition, ErrorCode.NONE, *ends, Slice(size) if size > 0 else None)


def request(
    wanted: dict[Place, int],
    *,
    session_id: int = NO_SESSION,
    epoch: int = 0,
    forgotten: set[Place] | None = None,
    replica_id: int = NOBODY,
) -> FetchRequest:
    topics = [
        FetchTopic(topic, ZERO_UUID, [FetchPartition(index, -1, offset, -1, -1, 100)])
        for (topic, index), offset in wanted.items()
    ]
    gone = [ForgottenTopic(topic, ZERO_UUID, [index]) for topic, index in forgotten or ()]
    return FetchRequest(replica_id, -1, 500, 1, 1000, 0, session_id, epoch, topics, gone, "")


class ModelClient:
    """Does what Kafka's FetchSessionHandler does, and keeps what it was told."""

    def __init__(self, sessions: FetchSessions, broker: ModelBroker) -> None:
        self._sessions = sessions
        self._broker = broker
        self.offsets: dict[Place, int] = {}
        self._sent: dict[Place, int] = {}
        self.session_id, self._epoch = NO_SESSION, 0
        self.told: dict[Place, PartitionAnswer] = {}

    def poll(self, now_ms: int) -> dict[Place, PartitionAnswer]:
        """What the answer holds; the client begins anew when its session is refused."""
        full = self._epoch == 0
        fetch = request(self.offsets) if full else self._increment()
        if full and self.session_id:
            fetch = fetch._replace(session_id=self.session_id)
        try:
            fetching = self._sessions.begin(fetch, by_id=False, now_ms=now_ms)
            session_id, answers = fetching.finish(self._broker.answers(fetching.topics), now_ms)
        except KafkaError:
            self.session_id, self._epoch = NO_SESSION, 0
            return self.poll(now_ms)
        received = {(topic.name, part.partition): part for topic in answers for part in topic.partitions}
        if full:
            assert received.keys() == self.offsets.keys(), "a full answer has everything that was asked"
            self.told = {}
        self.told = {place: part for place, part in self.told.items() if place in self.offsets}
        self.told.update(received)
        self.session_id, self._sent = session_id, dict(self.offsets)
        self._epoch = 0 if session_id == NO_SESSION else self._epoch + 1
        return received

    def _increment(self) -> FetchRequest:
        changed = {place: offset for place, offset in self.offsets.items() if self._sent.get(place) != offset}
        gone = self._sent.keys() - self.offsets.keys()
        return request(changed, session_id=self.session_id, epoch=self._epoch, forgotten=set(gone))


def without_records(part: PartitionAnswer) -> tuple[ErrorCode, int, int]:
    return part.error, part.high_watermark, part.log_start_offset


EVENTS = st.one_of(
    st.tuples(st.sampled_from(["append", "delete", "fail", "heal", "follow", "consume", "drop"]),
              st.sampled_from(PLACES)),
    st.tuples(st.sampled_from(["poll", "other clients", "time passes", "forget session"]), st.none()),
)  # fmt: skip


@given(st.lists(EVENTS, max_size=60), st.integers(1, 3))
def test_increments_put_together_are_the_full_answer(
    events: list[tuple[str, Place | None]], slots: int
) -> None:
    sessions, broker, now_ms = FetchSessions(slots, Random(1)), ModelBroker(), 0
    client = ModelClient(sessions, broker)
    for event, place in [*events, ("poll", None), ("poll", None)]:
        state = broker.partitions[place or PLACES[0]]
        match event:
            case "append":
                state.high_watermark += 1
            case "delete":
                state.log_start_offset = state.high_watermark
            case "fail":
                state.error = ErrorCode.KAFKA_STORAGE_ERROR
            case "heal":
                state.error = ErrorCode.NONE
            case "follow":
                client.offsets.setdefault(place or PLACES[0], 0)
            case "consume":
                client.offsets[place or PLACES[0]] = state.high_watermark
            case "drop":
                client.offsets.pop(place or PLACES[0], None)
            case "other clients":
                ModelClient(sessions, broker).poll(now_ms)
            case "time passes":
                now_ms += EVICTION_MS
            case "forget session":
                sessions.begin(
                    request({}, session_id=client.session_id, epoch=FINAL_EPOCH), by_id=False, now_ms=0
                )
            case "poll":
                before = dict(client.told)
                received = client.poll(now_ms)
                check(client, broker, before, received)
        assert len(sessions) <= slots


def check(
    client: ModelClient,
    broker: ModelBroker,
    before: dict[Place, PartitionAnswer],
    received: dict[Place, PartitionAnswer],
) -> None:
    full = {
        (topic.name, part.partition): part
        for topic in broker.answers(request(client.offsets).topics)
        for part in topic.partitions
    }
    told = {place: without_records(part) for place, part in client.told.items()}
    assert told == {place: without_records(part) for place, part in full.items()}
    with_records = {place for place, part in full.items() if part.records is not None}
    assert with_records <= received.keys()
    if len(received) < len(full):  # an increment: nobody is told what he knows
        for place in received.keys() - with_records:
            part = received[place]
            assert part.error is not ErrorCode.NONE or without_records(part) != without_records(
                before.get(place, PartitionAnswer(0, ErrorCode.UNKNOWN_SERVER_ERROR))
            )


def opened(sessions: FetchSessions, size: int = 1, now_ms: int = 0, replica_id: int = NOBODY) -> int:
    fetch = request({("t", index): 0 for index in range(size)}, replica_id=replica_id)
    session_id, _ = sessions.begin(fetch, by_id=False, now_ms=now_ms).finish([], now_ms)
    return session_id


def continued(sessions: FetchSessions, session_id: int, epoch: int = 1, **more: bool) -> ErrorCode:
    fetch = request({}, session_id=session_id, epoch=epoch)
    try:
        sessions.begin(fetch, by_id=more.get("by_id", False), now_ms=0)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(2, Random(1))


def test_a_session_that_is_not_known_is_refused(sessions: FetchSessions) -> None:
    assert continued(sessions, 77) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert continued(sessions, NO_SESSION) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_must_follow_each_other(sessions: FetchSessions) -> None:
    session_id = opened(sessions)
    assert continued(sessions, session_id, epoch=2) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert continued(sessions, session_id, epoch=1) is ErrorCode.NONE
    assert continued(sessions, session_id, epoch=1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert continued(sessions, session_id, epoch=-7) is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_the_epoch_after_the_last_is_one(sessions: FetchSessions) -> None:
    session_id = opened(sessions)
    sessions._sessions[session_id].epoch = LAST_EPOCH
    assert continued(sessions, session_id, epoch=LAST_EPOCH) is ErrorCode.NONE
    assert continued(sessions, session_id, epoch=1) is ErrorCode.NONE


def test_a_session_by_name_cannot_go_on_by_id(sessions: FetchSessions) -> None:
    session_id = opened(sessions)
    assert continued(sessions, session_id, by_id=True) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_request_that_was_overtaken_is_told_so(sessions: FetchSessions) -> None:
    session_id = opened(sessions)
    slow = sessions.begin(request({}, session_id=session_id, epoch=1), by_id=False, now_ms=0)
    assert continued(sessions, session_id, epoch=2) is ErrorCode.NONE
    with pytest.raises(KafkaError) as error:
        slow.finish([], 0)
    assert error.value.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_session_without_partitions_ends(sessions: FetchSessions) -> None:
    session_id = opened(sessions)
    fetch = request({}, session_id=session_id, epoch=1, forgotten={("t", 0)})
    assert sessions.begin(fetch, by_id=False, now_ms=0).finish([], 0) == (NO_SESSION, [])
    assert (len(sessions), sessions.partitions) == (0, 0)


def test_a_new_full_request_and_a_last_one_close_the_session(sessions: FetchSessions) -> None:
    for epoch in (0, FINAL_EPOCH):
        session_id = opened(sessions)
        sessions.begin(request({("t", 0): 0}, session_id=session_id, epoch=epoch), by_id=False, now_ms=0)
        assert len(sessions) == 0


def test_young_sessions_keep_their_places(sessions: FetchSessions) -> None:
    first, second = opened(sessions), opened(sessions)
    assert opened(sessions, size=100) == NO_SESSION
    assert continued(sessions, first) is ErrorCode.NONE
    assert continued(sessions, second) is ErrorCode.NONE


def test_a_stale_session_gives_way(sessions: FetchSessions) -> None:
    first, second = opened(sessions, size=9, now_ms=0), opened(sessions, now_ms=1)
    assert opened(sessions, now_ms=EVICTION_MS + 1) != NO_SESSION
    assert continued(sessions, first) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert continued(sessions, second) is ErrorCode.NONE


def test_of_older_sessions_in_use_the_smallest_gives_way_to_a_larger_one(sessions: FetchSessions) -> None:
    large, small = opened(sessions, size=9), opened(sessions, size=3)
    later = EVICTION_MS + 1
    for session_id in (large, small):
        sessions.begin(request({}, session_id=session_id, epoch=1), by_id=False, now_ms=later)
    assert opened(sessions, size=3, now_ms=later) == NO_SESSION
    assert opened(sessions, size=4, now_ms=later) != NO_SESSION
    assert continued(sessions, small, epoch=2) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert continued(sessions, large, epoch=2) is ErrorCode.NONE


def test_a_follower_takes_the_place_of_a_consumer_but_not_of_a_follower(sessions: FetchSessions) -> None:
    consumer, follower = opened(sessions, size=9), opened(sessions, replica_id=2)
    assert opened(sessions, replica_id=3) != NO_SESSION
    assert continued(sessions, consumer) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert continued(sessions, follower) is ErrorCode.NONE
    assert opened(sessions, size=99, replica_id=4) == NO_SESSION


def test_all_sessions_together_remember_no_more_partitions_than_allowed() -> None:
    sessions = FetchSessions(10, Random(1), max_partitions=10)
    assert opened(sessions, size=11) == NO_SESSION
    session_id = opened(sessions, size=8)
    assert opened(sessions, size=3) == NO_SESSION
    more = {("u", index): 0 for index in range(3)}
    with pytest.raises(KafkaError) as error:
        sessions.begin(request(more, session_id=session_id, epoch=1), by_id=False, now_ms=0)
    assert error.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(sessions), sessions.partitions) == (0, 0)


def test_partitions_that_gave_records_are_served_last_the_next_time(sessions: FetchSessions) -> None:
    fetch = request({("t", 0): 0, ("t", 1): 0})
    session_id, _ = sessions.begin(fetch, by_id=False, now_ms=0).finish([], 0)
    fetching = sessions.begin(request({}, session_id=session_id, epoch=1), by_id=False, now_ms=0)
    answers = [TopicAnswer("t", ZERO_UUID, [PartitionAnswer(0, ErrorCode.NONE, 1, 1, 0, Slice(5))])]
    fetching.finish(answers, 0)
    after = sessions.begin(request({}, session_id=session_id, epoch=2), by_id=False, now_ms=0)
    assert [part.partition for topic in after.topics for part in topic.partitions] == [1, 0]


def test_who_was_told_that_logs_have_parted_is_told_the_high_watermark_again(sessions: FetchSessions) -> None:
    """Of that answer the follower takes nothing else; and it is told even when nothing else is new."""
    session_id, _ = sessions.begin(request({("t", 0): 0}), by_id=False, now_ms=0).finish([], 0)
    whole = PartitionAnswer(0, ErrorCode.NONE, 7, 7, 0)
    told = []
    for epoch, answer in enumerate([whole, whole._replace(diverging=(3, 5)), whole, whole], start=1):
        fetching = sessions.begin(request({}, session_id=session_id, epoch=epoch), by_id=False, now_ms=0)
        _, news = fetching.finish([TopicAnswer("t", ZERO_UUID, [answer])], 0)
        told.append([part for topic in news for part in topic.partitions])
    assert told == [[whole], [whole._replace(diverging=(3, 5))], [whole], []]
