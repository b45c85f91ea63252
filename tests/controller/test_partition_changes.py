"""What becomes of a partition when brokers come and go (KIP-966)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.controller.image import PartitionState, changed
from penstock.controller.metadata_records import NO_LEADER, decode, encode
from penstock.controller.partition_changes import Rules, decide_change

TOPIC = b"t" * 16
CLEAN = Rules(min_isr=2, unclean=False)


def after(
    state: PartitionState,
    rules: Rules,
    active: set[int],
    lost: set[int] | None = None,
    emptied: set[int] | None = None,
) -> PartitionState:
    record = decide_change(
        TOPIC, 0, state, rules, active.__contains__, stopped_uncleanly=lost or (), emptied=emptied or ()
    )
    return state if record is None else changed(state, record)


def partition(*isr: int, leader: int = 1, elr: tuple[int, ...] = ()) -> PartitionState:
    return PartitionState((1, 2, 3), isr, leader, 5, 7, elr)


def test_a_lost_leader_is_followed_by_the_first_replica_of_the_isr() -> None:
    state = after(partition(1, 2, 3), CLEAN, {2, 3})
    assert (state.leader, state.isr, state.elr) == (2, (2, 3), ())
    assert (state.leader_epoch, state.partition_epoch) == (6, 8)


def test_a_lost_follower_leaves_the_isr_and_the_leader_epoch_as_it_is() -> None:
    state = after(partition(1, 2, 3), CLEAN, {1, 3})
    assert (state.leader, state.isr, state.leader_epoch, state.partition_epoch) == (1, (1, 3), 5, 8)


def test_whoever_leaves_an_isr_that_is_too_small_to_commit_may_lead_later() -> None:
    state = after(partition(1, 2), CLEAN, {1})
    assert (state.isr, state.elr) == ((1,), (2,))
    nobody = after(state, CLEAN, set())
    assert (nobody.leader, nobody.isr, nobody.elr) == (NO_LEADER, (), (1, 2))
    back = after(nobody, CLEAN, {2})
    assert (back.leader, back.isr, back.elr) == (2, (2,), (1,))


def test_the_last_replica_standing_is_not_trusted_after_an_unclean_stop() -> None:
    alone = after(after(partition(1, 2), CLEAN, {1}), CLEAN, set())
    stopped = after(alone, CLEAN, set(), lost={1})
    assert (stopped.elr, stopped.last_known_elr) == ((2,), (1,))
    assert after(stopped, CLEAN, {1, 3}).leader == NO_LEADER


def test_an_unclean_election_takes_the_likeliest_and_only_where_it_is_allowed() -> None:
    gone = PartitionState((1, 2, 3), (), NO_LEADER, 5, 7, (3,), (2,))
    assert after(gone, CLEAN, {1, 2}) == gone
    state = after(gone, Rules(2, unclean=True), {1, 2})
    assert (state.leader, state.isr, state.elr, state.last_known_elr) == (2, (2,), (), ())


def test_when_all_have_stopped_uncleanly_the_last_leader_leads_again() -> None:
    one = after(partition(1, 2, 3), CLEAN, {2, 3}, lost={1})
    two = after(one, CLEAN, {3}, lost={2})
    three = after(two, CLEAN, set(), lost={3})
    assert (three.leader, three.isr, three.elr, three.last_known_elr) == (NO_LEADER, (), (), (3,))
    assert after(three, CLEAN, {1, 2}) == three
    back = after(three, CLEAN, {1, 2, 3})
    assert (back.leader, back.isr, back.last_known_elr) == (3, (3,), ())


def test_a_last_leader_without_its_disk_never_leads_and_the_last_who_was_eligible_does() -> None:
    state = partition(1, 2, 3, leader=3)
    for active in ({2, 3}, {3}, set[int]()):
        state = after(state, CLEAN, active)
    assert (state.elr, state.last_known_elr) == ((2, 3), (3,))
    state = after(state, CLEAN, set(), lost={3}, emptied={3})
    assert (state.elr, state.last_known_elr) == ((2,), ())
    state = after(state, CLEAN, {3}, lost={2})
    assert (state.leader, state.elr, state.last_known_elr) == (NO_LEADER, (), (2,))
    assert after(state, CLEAN, {1, 2, 3}).leader == 2


def test_the_only_replica_of_a_partition_leads_again_after_an_unclean_stop() -> None:
    alone = PartitionState((1,), (1,), 1, 5, 7)
    fenced = after(alone, Rules(1, unclean=False), set())
    assert (fenced.leader, fenced.elr, fenced.last_known_elr) == (NO_LEADER, (1,), (1,))
    stopped = after(fenced, Rules(1, unclean=False), set(), lost={1})
    assert after(stopped, Rules(1, unclean=False), {1}).leader == 1


def test_the_preferred_replica_leads_when_it_is_asked_for_and_in_sync() -> None:
    record = decide_change(TOPIC, 0, partition(1, 2, leader=2), CLEAN, {1, 2}.__contains__, prefer_first=True)
    assert record is not None
    assert record.leader == 1
    behind = partition(2, 3, leader=2)
    assert decide_change(TOPIC, 0, behind, CLEAN, {1, 2, 3}.__contains__, prefer_first=True) is None


@st.composite
def states(draw: st.DrawFn) -> PartitionState:
    replicas = tuple(range(1, draw(st.integers(1, 5)) + 1))
    places = draw(st.lists(st.sampled_from(["isr", "elr", "last", "out"]), min_size=5, max_size=5))
    where = dict(zip(replicas, places, strict=False))
    isr, elr, last = (
        tuple(node for node in replicas if where[node] == place) for place in ("isr", "elr", "last")
    )
    leader = draw(st.sampled_from(isr)) if isr else NO_LEADER
    return PartitionState(replicas, isr, leader, 1, 1, elr, last)


@given(
    states(),
    st.builds(Rules, st.integers(1, 4), st.booleans()),
    st.sets(st.integers(1, 5)),
    st.sets(st.integers(1, 5), max_size=2),
)
def test_every_change_keeps_the_promises_of_a_partition(
    state: PartitionState, rules: Rules, active: set[int], lost: set[int]
) -> None:
    new = after(state, rules, active, lost)
    promised = ({*state.isr} | {*state.elr}) - lost
    assert new.leader == NO_LEADER or new.leader in new.isr
    assert set(new.isr) <= active
    assert not set(new.isr) & set(new.elr), "nobody is in both"
    assert {*new.isr, *new.elr, *new.last_known_elr} <= set(state.replicas)
    assert not (new.isr and new.last_known_elr), "the last leader counts while there is none"
    if not rules.unclean and promised:
        assert set(new.isr) | set(new.elr) <= promised, "only who has everything may lead"
    if len(new.isr) >= rules.min_isr:
        assert new.elr == ()
    elif not rules.unclean and promised:
        assert promised == set(new.isr) | set(new.elr), "nobody who has everything is forgotten"
    assert after(new, rules, active, lost) == new, "once is enough"


@given(states(), st.sets(st.integers(1, 5)))
def test_a_record_of_a_change_is_read_as_it_was_written(state: PartitionState, active: set[int]) -> None:
    record = decide_change(TOPIC, 3, state, CLEAN, active.__contains__)
    if record is not None:
        assert decode(encode(record)) == record
