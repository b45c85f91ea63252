"""What happens to single records of a share group: a model, and the cases that KIP-932 names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.share.deliveries import Acknowledgement, AcknowledgeType, Acquired, Deliveries, Range
from penstock.share.state import PartitionState, RecordState, StateBatch

ACCEPT, RELEASE, REJECT = (
    int(AcknowledgeType.ACCEPT),
    int(AcknowledgeType.RELEASE),
    int(AcknowledgeType.REJECT),
)


def deliveries(state: PartitionState | None = None, *, most: int = 100, attempts: int = 3) -> Deliveries:
    return Deliveries(PartitionState(start_offset=0) if state is None else state, most, attempts)


def say(held: Deliveries, member: str, first: int, last: int, *types: int) -> None:
    held.settle(held.acknowledge(member, [Acknowledgement(first, last, types)], 1.0), durable=True)


def test_a_member_gets_whole_batches_until_it_has_enough() -> None:
    held = deliveries()
    got = held.acquire("a", [Range(0, 4), Range(5, 9), Range(10, 14)], 6, 1.0)
    assert got == [Acquired(0, 9, 1)]
    assert held.next_offset() == 10


def test_a_strict_member_gets_no_record_more() -> None:
    held = deliveries()
    assert held.acquire("a", [Range(0, 9)], 3, 1.0, strict=True) == [Acquired(0, 2, 1)]
    assert held.acquire("b", [Range(0, 9)], 3, 1.0, strict=True) == [Acquired(3, 5, 1)]


def test_a_record_has_one_owner() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 4)], 10, 1.0)
    assert held.acquire("b", [Range(0, 4)], 10, 1.0) == []


def test_accepted_records_move_the_start() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 4)], 10, 1.0)
    say(held, "a", 1, 4, ACCEPT)
    assert held.start_offset == 0
    say(held, "a", 0, 0, ACCEPT)
    assert (held.start_offset, len(held)) == (5, 0)


def test_a_released_record_is_delivered_again_and_counted() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 1)], 10, 1.0)
    say(held, "a", 0, 1, ACCEPT, RELEASE)
    assert held.next_offset() == 1
    assert held.acquire("b", [Range(0, 1)], 10, 1.0) == [Acquired(1, 1, 2)]


def test_a_record_is_given_up_after_its_last_attempt() -> None:
    held = deliveries(attempts=2)
    for _ in range(2):
        held.acquire("a", [Range(0, 0)], 10, 1.0)
        say(held, "a", 0, 0, RELEASE)
    assert held.start_offset == 1


def test_a_lock_that_runs_out_gives_the_record_back() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 0)], 10, lock_until=5.0)
    assert not held.expire(4.9)
    assert held.expire(5.0)
    with pytest.raises(KafkaError) as refused:
        say(held, "a", 0, 0, ACCEPT)
    assert refused.value.code is ErrorCode.INVALID_RECORD_STATE
    assert held.acquire("b", [Range(0, 0)], 10, 9.0) == [Acquired(0, 0, 2)]


def test_a_renewed_lock_lasts_longer() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 0)], 10, lock_until=5.0)
    assert held.acknowledge("a", [Acknowledgement(0, 0, [int(AcknowledgeType.RENEW)])], 50.0) == []
    assert not held.expire(10.0)
    say(held, "a", 0, 0, ACCEPT)


def test_what_could_not_be_made_durable_is_delivered_again() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 0)], 10, 1.0)
    changed = held.acknowledge("a", [Acknowledgement(0, 0, [ACCEPT])], 1.0)
    assert held.acquire("b", [Range(0, 0)], 10, 1.0) == [], "not before the write has failed"
    held.settle(changed, durable=False)
    assert held.acquire("b", [Range(0, 0)], 10, 1.0) == [Acquired(0, 0, 2)]


@pytest.mark.parametrize(
    ("first", "last", "types", "code"),
    [
        (3, 2, [ACCEPT], ErrorCode.INVALID_REQUEST),
        (0, 2, [ACCEPT, ACCEPT], ErrorCode.INVALID_REQUEST),
        (0, 2, [9], ErrorCode.INVALID_REQUEST),
        (0, 99, [ACCEPT], ErrorCode.INVALID_REQUEST),
        (-1, 0, [ACCEPT], ErrorCode.INVALID_REQUEST),
        (0, 2**62, [ACCEPT], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_bad_acknowledgement_changes_nothing(
    first: int, last: int, types: list[int], code: ErrorCode
) -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 4)], 10, 1.0)
    with pytest.raises(KafkaError) as refused:
        held.acknowledge("a", [Acknowledgement(4, 4, [ACCEPT]), Acknowledgement(first, last, types)], 1.0)
    assert refused.value.code is code
    say(held, "a", 0, 4, ACCEPT)
    assert held.start_offset == 5


def test_nobody_gets_hidden_records() -> None:
    held = deliveries()
    assert held.acquire("a", [Range(0, 3, True), Range(4, 5)], 10, 1.0) == [Acquired(4, 5, 1)]
    assert held.start_offset == 4


def test_no_more_is_in_flight_than_allowed() -> None:
    held = deliveries(most=10)
    assert held.acquire("a", [Range(0, 99)], 500, 1.0) == [Acquired(0, 9, 1)]
    assert held.next_offset() is None
    say(held, "a", 0, 4, ACCEPT)
    assert held.next_offset() == 10


def test_records_that_the_log_has_lost_are_forgotten() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 9)], 10, 1.0)
    held.move_start(5)
    assert held.start_offset == 5
    say(held, "a", 0, 9, ACCEPT)
    assert held.start_offset == 10


def test_what_is_kept_is_what_was_decided() -> None:
    held = deliveries()
    held.acquire("a", [Range(0, 5)], 10, 1.0)
    held.acknowledge("a", [Acknowledgement(0, 3, [ACCEPT, ACCEPT, RELEASE, REJECT])], 1.0)
    assert held.state(7, 8) == PartitionState(
        7,
        8,
        2,
        (
            StateBatch(2, 2, RecordState.AVAILABLE, 1),
            StateBatch(3, 3, RecordState.ARCHIVED, 1),
            StateBatch(4, 5, RecordState.AVAILABLE, 1),
        ),
    )


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(sorted(RecordState)), st.integers(1, 3)), max_size=6
    )
)
def test_a_state_that_is_loaded_is_the_same_state(parts: list[tuple[int, RecordState, int]]) -> None:
    offset, batches = 10, []
    for size, state, count in parts:
        batches.append(StateBatch(offset, offset + size - 1, state, count))
        offset += size + 1  # with a gap
    first = deliveries(PartitionState(0, 0, 10, tuple(batches)))
    again = deliveries(first.state(0, 0))
    assert (again.start_offset, again.end_offset) == (first.start_offset, first.end_offset)
    assert again.state(0, 0) == first.state(0, 0)


class Members(RuleBasedStateMachine):
    """Members take, acknowledge, vanish; leaders change. Accepted records never come again, others do."""

    SIZE = 40

    @initialize()
    def begin(self) -> None:
        self.held = deliveries(most=15, attempts=1000)
        self.owned: dict[str, set[int]] = {"a": set(), "b": set(), "c": set()}
        self.accepted: set[int] = set()
        self.delivered: set[int] = set()

    @rule(member=st.sampled_from("abc"), wanted=st.integers(1, 8), strict=st.booleans())
    def take(self, member: str, wanted: int, strict: bool) -> None:
        offset = self.held.next_offset()
        if offset is None or offset >= self.SIZE:
            return
        base = offset - offset % 4  # batches of four
        ranges = [Range(at, at + 3) for at in range(base, self.SIZE, 4)]
        for first, last, _ in self.held.acquire(member, ranges, wanted, 10.0, strict=strict):
            for record in range(first, last + 1):
                assert record not in self.accepted
                assert not any(record in owned for owned in self.owned.values())
                self.owned[member].add(record)
                self.delivered.add(record)

    @rule(
        member=st.sampled_from("abc"),
        kind=st.sampled_from([ACCEPT, RELEASE]),
        durable=st.booleans(),
        data=st.data(),
    )
    def acknowledge(self, member: str, kind: int, durable: bool, data: st.DataObject) -> None:
        owned = sorted(self.owned[member])
        if not owned:
            return
        record = data.draw(st.sampled_from(owned))
        self.held.settle(
            self.held.acknowledge(member, [Acknowledgement(record, record, [kind])], 1.0), durable=durable
        )
        self.owned[member].discard(record)
        if durable and kind == ACCEPT:
            self.accepted.add(record)

    @rule(member=st.sampled_from("abc"))
    def vanish(self, member: str) -> None:
        self.held.settle(self.held.release_member(member), durable=True)
        self.owned[member].clear()

    @rule()
    def run_out(self) -> None:
        self.held.expire(11.0)
        for owned in self.owned.values():
            owned.clear()

    @rule()
    def change_leader(self) -> None:
        self.held = Deliveries(self.held.state(0, 0), 15, 1000)
        for owned in self.owned.values():
            owned.clear()

    @invariant()
    def everything_is_accounted_for(self) -> None:
        if not hasattr(self, "held"):
            return
        assert all(record in self.accepted for record in range(self.held.start_offset))
        assert len(self.held) <= 15


Members.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestMembers = Members.TestCase
