"""A fetcher's questions and what it makes of answers, through the bytes of the wire and the leader's own
handler side."""

from __future__ import annotations

import logging

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import PartitionAnswer, TopicAnswer, encode_response, read_request
from penstock.protocol.primitives import Reader
from penstock.replication.fetching import PASSES_WITHIN, Fetcher, tell_failures
from penstock.replication.following import Position
from penstock.wire.replica_fetch import VERSION, LeaderAnswer, Limits, ReplicaSession, Wanted, read_response
from tests.replication.replicas import MAX_BYTES, TOPIC_ID, Replicas

LIMITS = Limits(500, 1, MAX_BYTES, MAX_BYTES)
PLACE = (TOPIC_ID, 0)


def fetcher_of(replicas: Replicas, node: int) -> Fetcher:
    fetcher = Fetcher(replicas.clock, longest_pause_seconds=1.0)
    fetcher.add(replicas[node])
    return fetcher


def answer_of(replicas: Replicas, wanted: Wanted) -> LeaderAnswer:
    fetched = replicas.ask(2, Position(*wanted))
    records = memoryview(b"") if fetched.records is None else memoryview(bytearray(fetched.records.read()))
    return LeaderAnswer(
        PLACE, ErrorCode.NONE, fetched.high_watermark, fetched.log_start_offset, fetched.diverging, records
    )


def exchange(replicas: Replicas, fetcher: Fetcher, rounds: int = 1) -> None:
    for _ in range(rounds):
        fetcher.take([answer_of(replicas, wanted) for wanted in fetcher.ask().values()])


def test_a_fetcher_brings_a_follower_up_to_its_leader() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.append(b"b")
    exchange(replicas, fetcher_of(replicas, 2), rounds=3)
    assert replicas.values(2) == [b"a", b"b"]
    assert replicas[2].high_watermark == 2


def test_a_fetcher_cuts_where_its_leader_says_that_the_logs_parted() -> None:
    replicas = Replicas(1, 2)
    replicas.lead(2, (2,))
    replicas.append(b"lost")
    replicas.lead(1, (1,))
    replicas.append(b"kept")
    exchange(replicas, fetcher_of(replicas, 2), rounds=3)
    assert replicas.values(2) == [b"kept"]


def test_a_partition_that_failed_is_left_out_for_longer_each_time() -> None:
    replicas = Replicas(1, 2)
    fetcher = fetcher_of(replicas, 2)
    refused = LeaderAnswer(PLACE, ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1, None, memoryview(b""))
    pauses = []
    for _ in range(8):
        assert fetcher.ask()
        fetcher.take([refused])
        assert not fetcher.ask()
        pause = fetcher.pause_seconds()
        assert pause is not None
        pauses.append(round(pause, 3))
        replicas.clock.pass_ms(int(pause * 1000) + 1)
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0]
    exchange(replicas, fetcher)  # one good answer, and it is patient again
    fetcher.take([refused])
    assert fetcher.pause_seconds() is not None


def test_what_passes_by_itself_is_not_told_and_what_stays_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    replicas = Replicas(1, 2)
    fetcher = fetcher_of(replicas, 2)
    refused = LeaderAnswer(PLACE, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, None, memoryview(b""))
    for _ in range(2 * PASSES_WITHIN):
        assert fetcher.ask()
        fetcher.take([refused])
        pause = fetcher.pause_seconds()
        assert pause is not None
        replicas.clock.pass_ms(int(pause * 1000) + 1)
    (told,) = caplog.messages
    assert "NOT_LEADER_OR_FOLLOWER" in told


def test_many_partitions_with_one_trouble_make_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    tell_failures({"no space is left": list(range(12))})  # type: ignore[dict-item]
    assert caplog.messages == [
        "fetching of 0, 1, 2, 3, 4 and 7 more fails, and is tried again: no space is left"
    ]


def test_a_partition_out_of_the_leaders_range_is_given_back_and_moved() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.lead(1, (1,))
    replicas.append(b"b")
    replicas.leader.delete_records(2)
    fetcher = fetcher_of(replicas, 2)
    fetcher.ask()
    outside = LeaderAnswer(PLACE, ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, None, memoryview(b""))
    assert fetcher.take([outside]) == [replicas[2]]
    fetcher.move_into_range(replicas[2], 2, 2)
    replicas.append(b"c")
    exchange(replicas, fetcher, rounds=2)
    assert replicas.values(2) == [b"c"]


def test_a_partition_that_leads_or_left_is_not_asked_for() -> None:
    replicas = Replicas(1, 2)
    fetcher = fetcher_of(replicas, 2)
    replicas.lead(2, (2,))
    assert fetcher.ask() == {}
    assert fetcher.pause_seconds() is None
    replicas.lead(1, (1,))
    fetcher.remove(replicas[2])
    assert fetcher.ask() == {}


def test_bytes_that_are_cut_or_damaged_are_not_taken() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    fetcher = fetcher_of(replicas, 2)
    (wanted,) = fetcher.ask().values()
    answer = answer_of(replicas, wanted)
    damaged = memoryview(bytearray(answer.records))
    damaged[-1] ^= 1
    fetcher.take([answer._replace(records=damaged)])
    assert replicas.values(2) == []
    replicas.clock.pass_ms(1000)
    fetcher.ask()
    fetcher.take([answer._replace(records=answer.records[:-1])])  # a leader may cut the last batch
    assert replicas.values(2) == []
    exchange(replicas, fetcher)
    assert replicas.values(2) == [b"a"]


def sent(session: ReplicaSession, wanted: dict[tuple[bytes, int], Wanted]) -> tuple[int, int, int, int]:
    """What the leader reads: session id and epoch, how many partitions are named and how many forgotten."""
    body = memoryview(session.encode(wanted, LIMITS, (2, 77)))
    request = read_request(Reader(body, flexible=True), VERSION)
    assert (request.replica_id, request.replica_epoch, request.max_wait_ms) == (2, 77, 500)
    named = sum(len(topic.partitions) for topic in request.topics)
    forgotten = sum(len(topic.partitions) for topic in request.forgotten)
    return request.session_id, request.session_epoch, named, forgotten


def answered(session: ReplicaSession, *answers: TopicAnswer, session_id: int = 9) -> list[LeaderAnswer]:
    parts = encode_response(VERSION, answers, session_id=session_id)
    body = b"".join(part for part in parts if isinstance(part, bytes))
    response = read_response(memoryview(body))
    session.answered(response)
    return response.answers


def test_a_session_names_what_has_changed() -> None:
    session = ReplicaSession()
    first, other = Wanted(3, 10, 2, 0), Wanted(3, 20, 2, 0)
    wanted = {(TOPIC_ID, 0): first, (TOPIC_ID, 1): other}
    assert sent(session, wanted) == (0, 0, 2, 0)
    answered(session)
    assert sent(session, wanted) == (9, 1, 0, 0)
    answered(session)
    assert sent(session, {(TOPIC_ID, 0): first._replace(offset=11)}) == (9, 2, 1, 1)
    session.forget()
    assert sent(session, wanted) == (0, 0, 2, 0)
    answered(session, session_id=0)  # the leader has no room for a session
    assert sent(session, wanted) == (0, 0, 2, 0)


def test_where_logs_parted_comes_over_the_wire() -> None:
    answer = PartitionAnswer(0, ErrorCode.NONE, 5, 5, 1, diverging=(2, 4))
    plain = PartitionAnswer(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    told = answered(ReplicaSession(), TopicAnswer("", TOPIC_ID, [answer, plain]))
    assert [(each.place[1], each.error, each.diverging) for each in told] == [
        (0, ErrorCode.NONE, (2, 4)),
        (1, ErrorCode.NOT_LEADER_OR_FOLLOWER, None),
    ]
    assert (told[0].high_watermark, told[0].log_start_offset) == (5, 1)


def test_an_answer_that_comes_after_another_leader_epoch_began_is_passed_over_and_that_is_known() -> None:
    replicas = Replicas()
    follower = replicas.partitions[2]
    fetcher = Fetcher(replicas.clock, 1.0)
    fetcher.add(follower)
    (place,) = fetcher.ask()
    answer = LeaderAnswer(place, ErrorCode.NONE, 0, 0, None, memoryview(b""))
    fetcher.take([answer])
    assert not fetcher.passed_over
    fetcher.ask()
    fetcher.add(follower)  # as the metadata follower does with every new epoch
    fetcher.take([answer])
    assert fetcher.passed_over
