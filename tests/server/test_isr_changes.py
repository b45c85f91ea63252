"""Leaders that want another ISR, and what the controller's answers make of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from penstock.coordinator.promise import Promise
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.primitives import Reader
from penstock.replication.partitions import Partitions
from penstock.server.cluster import isr_changes
from penstock.server.cluster.isr_changes import VERSION, IsrChanges, IsrThread
from tests.replication.replicas import TOPIC_ID, Replicas


@pytest.fixture
def replicas() -> Replicas:
    """Broker 3 has caught up and wants in."""
    replicas = Replicas()
    replicas.lead(1, (1, 2))
    replicas.catch_up(3)
    return replicas


def changes_of(replicas: Replicas) -> IsrChanges:
    changes = IsrChanges(1, lambda: 77)
    for partition in replicas.asked:
        changes.wanted(partition)
    return changes


def answer(code: ErrorCode, *, isr: tuple[int, ...] = (), partition_epoch: int = -1) -> Any:
    part = SimpleNamespace(
        partition_index=0, error_code=code, leader_epoch=1, isr=isr, partition_epoch=partition_epoch
    )
    topic = SimpleNamespace(topic_id=UUID(bytes=TOPIC_ID), partitions=[part])
    return SimpleNamespace(error_code=0, topics=[topic])


def test_a_request_names_who_asks_what_it_rests_on_and_each_members_life(replicas: Replicas) -> None:
    changes = changes_of(replicas)
    request = changes.request(changes.take())
    assert (request["broker_id"], request["broker_epoch"]) == (1, 77)
    ((partition,),) = [topic["partitions"] for topic in request["topics"]]
    assert (partition["leader_epoch"], partition["partition_epoch"]) == (1, 1)
    members = {each["broker_id"]: each["broker_epoch"] for each in partition["new_isr_with_epochs"]}
    assert members == {1: -1, 2: -1, 3: 100}  # of itself and of who has not fetched yet nothing is known
    assert changes.take() == {}


def test_what_is_too_much_for_one_request_is_left_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isr_changes, "MOST_AT_ONCE", 2)
    changes = IsrChanges(1, lambda: 77)
    for index in range(5):
        one = Replicas()
        one.lead(1, (1, 2))
        one.catch_up(3)
        one.leader.index = index
        changes.wanted(one.leader)
    taken = [[place[1] for place in changes.take()] for _ in range(4)]
    assert taken == [[0, 1], [2, 3], [4], []]


def test_what_is_granted_counts_at_once(replicas: Replicas) -> None:
    changes = changes_of(replicas)
    granted = answer(ErrorCode.NONE, isr=(1, 2, 3), partition_epoch=2)
    assert not changes.answered(changes.take(), granted)
    leading = replicas.leader.leadership
    assert leading is not None
    assert (leading.isr, leading.partition_epoch, leading.wanted) == ({1, 2, 3}, 2, None)


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_was_not_attempted_is_forgotten(replicas: Replicas, code: ErrorCode) -> None:
    changes = changes_of(replicas)
    assert not changes.answered(changes.take(), answer(code))
    assert replicas.leader.wanted_isr() is None


@pytest.mark.parametrize("code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION])
def test_what_was_overtaken_waits_for_the_metadata(replicas: Replicas, code: ErrorCode) -> None:
    changes = changes_of(replicas)
    assert not changes.answered(changes.take(), answer(code))
    assert replicas.leader.wanted_isr() is not None
    replicas.lead(1, (1, 2))
    assert replicas.leader.wanted_isr() is None


def test_what_may_have_happened_is_asked_again(replicas: Replicas) -> None:
    changes = changes_of(replicas)
    asked = changes.take()
    assert changes.answered(asked, answer(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert changes.take() == asked
    assert changes.answered(asked, SimpleNamespace(error_code=ErrorCode.STALE_BROKER_EPOCH, topics=[]))
    assert changes.take() == asked


class Controller:
    """Answers the second time, through the bytes of the wire."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]:
        assert (api, version) == (Api.ALTER_PARTITION, VERSION)
        self.asked += 1
        promise: Promise[bytes] = Promise()
        if self.asked == 1:
            promise.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
            return promise
        (topic,) = read_request(api, version, Reader(memoryview(body), flexible=True)).topics
        (wanted,) = topic.partitions
        part = {
            "partition_index": wanted.partition_index,
            "error_code": 0,
            "leader_id": 1,
            "leader_epoch": wanted.leader_epoch,
            "isr": [each.broker_id for each in wanted.new_isr_with_epochs],
            "leader_recovery_state": 0,
            "partition_epoch": wanted.partition_epoch + 1,
        }
        topics = [{"topic_id": TOPIC_ID, "partitions": [part]}]
        fields = {"throttle_time": 0, "error_code": 0, "topics": topics}
        promise.complete(encode_response(api, version, fields))
        return promise


def test_the_thread_asks_until_it_has_an_answer(replicas: Replicas) -> None:
    changes, controller = changes_of(replicas), Controller()
    thread = IsrThread(changes, Partitions(), controller, lambda: 30.0)
    told: list[ErrorCode] = []
    replicas.append(b"a")
    replicas.leader.when_acknowledged(1, 1, told.append)
    thread.start()
    try:
        thread.wake()
        leading = replicas.leader.leadership
        assert leading is not None
        for _ in range(500):
            if leading.isr == {1, 2, 3}:
                break
            thread._stopped.wait(0.01)
        assert leading.isr == {1, 2, 3}
        assert controller.asked == 2
    finally:
        thread.close()
