"""A member of a group: what it is given, what happens when others come and go."""

from __future__ import annotations

import threading

import pytest

from penstock.protocol.topic_partition import TopicPartition
from penstock.testing import Broker
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced
from penstock.wire.membership import Member, Membership, decode_assignment, encode_assignment

PLACES = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]


def member(servers: str, instance: str) -> Membership:
    return Membership(Cluster(servers), "g", instance, protocol="stream", session_timeout_ms=6000)


def everything_to_the_first(members: list[Member]) -> dict[str, list[TopicPartition]]:
    first = min(members, key=lambda one: one.told)
    return {one.member_id: PLACES if one is first else [] for one in members}


def test_assignments_are_read_as_they_were_written() -> None:
    assert decode_assignment(encode_assignment(PLACES)) == (PLACES, b"")
    assert decode_assignment(encode_assignment(PLACES, b"to all")) == (PLACES, b"to all")
    assert decode_assignment(encode_assignment([])) == ([], b"")
    assert decode_assignment(b"") == ([], b"")


def test_one_has_everything_and_the_other_takes_over_when_it_leaves() -> None:
    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        one, other = member(broker.bootstrap_servers, "1"), member(broker.bootstrap_servers, "2")
        given: dict[str, list[TopicPartition]] = {}

        def join(which: Membership, told: str) -> None:
            given[told] = which.join(["t", "u"], told.encode(), everything_to_the_first, Deadline(30))

        join(one, "1")
        assert given == {"1": PLACES}
        assert one.heartbeat(Deadline(10))
        second = threading.Thread(target=join, args=[other, "2"])
        second.start()
        while one.heartbeat(Deadline(10)):
            pass  # until the coordinator says that somebody has come
        join(one, "1")
        second.join(30)
        assert given == {"1": PLACES, "2": []}
        one.leave(Deadline(10))
        while other.heartbeat(Deadline(10)):
            pass
        join(other, "2")
        assert given["2"] == PLACES


def test_an_instance_that_comes_back_takes_the_place_of_its_predecessor() -> None:
    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        before, after = member(broker.bootstrap_servers, "1"), member(broker.bootstrap_servers, "1")
        assert before.join(["t"], b"", everything_to_the_first, Deadline(30)) == PLACES
        assert after.join(["t"], b"", everything_to_the_first, Deadline(30)) == PLACES
        with pytest.raises(Fenced, match="another member"):
            before.heartbeat(Deadline(10))
