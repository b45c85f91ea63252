"""Sessions of members: epochs, what they remember, how many there may be."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share.sessions import FINAL_EPOCH, IDLE_SECONDS, SessionKey, ShareSessions

KEY = SessionKey("g", "m")
ONE, TWO = (b"t" * 16, 0), (b"t" * 16, 1)


def refused(sessions: ShareSessions, key: SessionKey, epoch: int, now: float = 0.0) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        sessions.fetch(key, epoch, [], [], now)
    return error.value.code


def test_a_session_remembers_its_partitions_and_gives_each_its_turn() -> None:
    sessions = ShareSessions(10)
    assert sessions.fetch(KEY, 0, [ONE, TWO], [], 0.0) == [ONE, TWO]
    assert sessions.fetch(KEY, 1, [], [], 0.0) == [TWO, ONE]
    assert sessions.fetch(KEY, 2, [], [TWO], 0.0) == [ONE]


def test_epochs_must_follow_each_other() -> None:
    sessions = ShareSessions(10)
    assert refused(sessions, KEY, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND
    sessions.fetch(KEY, 0, [ONE], [], 0.0)
    assert refused(sessions, KEY, 2) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    sessions.acknowledge(KEY, 1, 0.0)
    sessions.fetch(KEY, 2, [], [], 0.0)


def test_the_last_request_names_what_is_to_be_given_back() -> None:
    sessions = ShareSessions(10)
    sessions.fetch(KEY, 0, [ONE, TWO], [], 0.0)
    assert set(sessions.fetch(KEY, FINAL_EPOCH, [], [], 0.0)) == {ONE, TWO}
    assert refused(sessions, KEY, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_an_idle_session_gives_way_to_a_new_one() -> None:
    sessions = ShareSessions(1)
    sessions.fetch(KEY, 0, [ONE], [], 0.0)
    other = SessionKey("g", "n")
    assert refused(sessions, other, 0, 1.0) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    sessions.fetch(other, 0, [ONE], [], IDLE_SECONDS + 1.0)
    assert len(sessions) == 1
