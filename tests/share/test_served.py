"""A served partition: one write at a time, and nobody is answered before it is durable."""

from __future__ import annotations

from penstock.coordinator.promise import Promise, done
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share.deliveries import Acknowledgement, Acquired, Range
from penstock.share.served import ServedPartition
from penstock.share.state import PartitionState, SharePartitionKey

KEY = SharePartitionKey("g", b"t" * 16, 0)
ACCEPT, RELEASE = [1], [2]


class SlowStates:
    """Keeps what is written, and answers when it is told to."""

    def __init__(self) -> None:
        self.written: list[PartitionState] = []
        self.promises: list[Promise[None]] = []

    def write(self, key: SharePartitionKey, state: PartitionState) -> Promise[None]:
        self.written.append(state)
        self.promises.append(Promise())
        return self.promises[-1]

    def initialise(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[None]:
        return done(None)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[PartitionState]:
        return done(PartitionState())

    def delete(self, key: SharePartitionKey) -> Promise[None]:
        return done(None)

    def summary(self, key: SharePartitionKey) -> Promise[PartitionState]:
        return done(PartitionState())


def served(states: SlowStates) -> ServedPartition:
    partition = ServedPartition(KEY, 1, PartitionState(0, 1, 0), states, 100, 5)
    assert partition.acquire("a", [Range(0, 9)], 10, 30.0, strict=False) == [Acquired(0, 9, 1)]
    return partition


def say(partition: ServedPartition, first: int, last: int, types: list[int]) -> Promise[None]:
    return partition.acknowledge("a", [Acknowledgement(first, last, types)], 1.0, 30.0)


def test_what_is_said_during_a_write_goes_with_the_next_one() -> None:
    states = SlowStates()
    partition = served(states)
    said = [say(partition, at, at, ACCEPT) for at in range(4)]
    assert [state.start_offset for state in states.written] == [1]
    states.promises[0].complete(None)
    assert [promise.done for promise in said] == [True, False, False, False]
    assert [state.start_offset for state in states.written] == [1, 4]
    states.promises[1].complete(None)
    assert all(promise.done for promise in said)
    assert len(states.written) == 2, "nothing is left to write"


def test_a_write_that_fails_gives_the_records_to_others() -> None:
    states = SlowStates()
    partition = served(states)
    said = say(partition, 0, 0, ACCEPT)
    states.promises[0].fail(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert said.broken
    assert not partition.is_fenced
    assert partition.acquire("b", [Range(0, 9)], 10, 30.0, strict=False) == [Acquired(0, 0, 2)]


def test_a_leader_that_was_replaced_notices() -> None:
    states = SlowStates()
    partition = served(states)
    said = [say(partition, at, at, ACCEPT) for at in range(2)]
    states.promises[0].fail(KafkaError(ErrorCode.FENCED_LEADER_EPOCH))
    assert partition.is_fenced
    assert all(promise.broken for promise in said)
    assert len(states.written) == 1


def test_released_records_wake_members_that_wait() -> None:
    class Waiter:
        woken = False

        def wake(self) -> None:
            self.woken = True

    states, waiter = SlowStates(), Waiter()
    partition = served(states)
    partition.released.watch(waiter)
    partition.release_member("a")
    assert not waiter.woken, "not before it is durable"
    states.promises[0].complete(None)
    assert waiter.woken
    assert partition.next_offset(1.0, 0) == 0
