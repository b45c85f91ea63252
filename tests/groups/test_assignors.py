"""The server's assignors: everything has one owner, evenly, with little moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.groups import range_assignor, uniform_assignor
from penstock.groups.assignor import Assign, AssignedMember, Spec
from penstock.groups.assignors import ASSIGNORS, resolve
from penstock.groups.consumer_group import flatten
from penstock.groups.consumer_records import NO_PARTITIONS, Assignment

A, B, C = (bytes([letter]) * 16 for letter in b"abc")


def _spec(
    members: dict[str, set[bytes]], topics: dict[bytes, int], has: dict[str, Assignment] | None = None
) -> Spec:
    present = has or {}
    return Spec(
        {
            name: AssignedMember(None, None, frozenset(wants), present.get(name, NO_PARTITIONS))
            for name, wants in members.items()
        },
        topics,
    )


def _parts(assignment: Assignment) -> set[tuple[bytes, int]]:
    return set(flatten(assignment))


subscriptions = st.dictionaries(
    st.sampled_from([f"m{number}" for number in range(8)]), st.sets(st.sampled_from([A, B, C])), min_size=1
)
sizes = st.fixed_dictionaries({topic: st.integers(1, 12) for topic in (A, B, C)})


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=list(ASSIGNORS))
@given(members=subscriptions, topics=sizes)
def test_every_partition_that_somebody_reads_has_exactly_one_owner_that_reads_it(
    assign: Assign, members: dict[str, set[bytes]], topics: dict[bytes, int]
) -> None:
    result = assign(_spec(members, topics))
    assert result.keys() == members.keys()
    owned = [part for assignment in result.values() for part in flatten(assignment)]
    read = set().union(*members.values())
    assert sorted(owned) == sorted((topic, at) for topic in read for at in range(topics[topic]))
    for name, assignment in result.items():
        assert {topic for topic, _ in flatten(assignment)} <= members[name]


@given(members=st.integers(1, 9), topics=sizes)
def test_uniform_gives_members_that_read_the_same_as_much_to_one(
    members: int, topics: dict[bytes, int]
) -> None:
    spec = _spec({f"m{number}": {A, B, C} for number in range(members)}, topics)
    loads = [len(_parts(assignment)) for assignment in uniform_assignor.assign(spec).values()]
    assert max(loads) - min(loads) <= 1


@given(members=st.integers(1, 9), gone=st.sets(st.integers(0, 8)), new=st.integers(0, 3), topics=sizes)
def test_uniform_moves_nothing_that_need_not_move(
    members: int, gone: set[int], new: int, topics: dict[bytes, int]
) -> None:
    names = [f"m{number}" for number in range(members)]
    before = uniform_assignor.assign(_spec({name: {A, B, C} for name in names}, topics))
    stay = [name for number, name in enumerate(names) if number not in gone] + [f"n{at}" for at in range(new)]
    if not stay:
        return
    after = uniform_assignor.assign(_spec({name: {A, B, C} for name in stay}, topics, before))
    total = sum(topics.values())
    least, extra = divmod(total, len(stay))
    for name in stay:
        had, has = _parts(before.get(name, NO_PARTITIONS)), _parts(after[name])
        # Whoever had less than its share loses nothing; whoever had more loses only what is beyond it.
        assert len(had - has) <= max(0, len(had) - least), (name, had, has, least, extra)


@given(members=subscriptions, topics=sizes)
def test_uniform_leaves_no_single_move_that_would_make_it_more_even(
    members: dict[str, set[bytes]], topics: dict[bytes, int]
) -> None:
    result = uniform_assignor.assign(_spec(members, topics))
    loads = {name: len(_parts(assignment)) for name, assignment in result.items()}
    for name, assignment in result.items():
        for topic, _ in flatten(assignment):
            readers = [other for other, wants in members.items() if topic in wants]
            assert loads[name] - min(loads[other] for other in readers) <= 1


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=list(ASSIGNORS))
@given(members=subscriptions, topics=sizes)
def test_what_was_assigned_stays_as_it_is_when_nothing_changes(
    assign: Assign, members: dict[str, set[bytes]], topics: dict[bytes, int]
) -> None:
    first = assign(_spec(members, topics))
    assert assign(_spec(members, topics, first)) == first


def test_uniform_prefers_members_beside_a_replica() -> None:
    members = {
        "left": AssignedMember(None, "L", frozenset({A}), NO_PARTITIONS),
        "right": AssignedMember(None, "R", frozenset({A}), NO_PARTITIONS),
    }
    racks = {(A, index): frozenset({"R" if index < 3 else "L"}) for index in range(6)}
    result = uniform_assignor.assign(Spec(members, {A: 6}, racks))
    assert result == {"left": {A: frozenset({3, 4, 5})}, "right": {A: frozenset({0, 1, 2})}}


def test_uniform_is_even_before_it_is_near() -> None:
    members = {
        name: AssignedMember(None, "R" if name == "near" else "L", frozenset({A}), NO_PARTITIONS)
        for name in ("near", "far")
    }
    racks = {(A, index): frozenset({"R"}) for index in range(6)}
    result = uniform_assignor.assign(Spec(members, {A: 6}, racks))
    assert {name: len(_parts(assignment)) for name, assignment in result.items()} == {"near": 3, "far": 3}


def test_range_cuts_topics_alike_and_orders_static_members_by_instance() -> None:
    members = {
        "z": AssignedMember("1", None, frozenset({A, B}), NO_PARTITIONS),
        "a": AssignedMember("2", None, frozenset({A, B}), NO_PARTITIONS),
        "b": AssignedMember(None, None, frozenset({A, B}), NO_PARTITIONS),
    }
    result = range_assignor.assign(Spec(members, {A: 7, B: 7}))
    stretches = {"z": {0, 1, 2}, "a": {3, 4}, "b": {5, 6}}
    assert result == {
        name: {A: frozenset(indexes), B: frozenset(indexes)} for name, indexes in stretches.items()
    }


def test_assignors_are_also_known_by_the_names_of_kafkas_classes() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    assert list(resolve((f"{package}.RangeAssignor", "uniform", "mine"))) == ["range", "uniform"]
    assert list(resolve(())) == ["uniform", "range"]
