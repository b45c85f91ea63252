"""Replicas are spread over racks and brokers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.controller.image import BrokerState
from penstock.controller.placement import place_replicas
from penstock.protocol.errors import ErrorCode, KafkaError


def broker(number: int, rack: str | None = None, *, fenced: bool = False) -> BrokerState:
    return BrokerState(number, b"i" * 16, number, (), rack, fenced)


racks = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9)


@given(racks, st.integers(1, 40), st.integers(1, 5), st.integers(0, 100))
def test_replicas_are_on_different_brokers_and_in_as_many_racks_as_there_are(
    placed: list[str | None], count: int, factor: int, start: int
) -> None:
    brokers = [broker(number, rack) for number, rack in enumerate(placed)]
    factor = min(factor, len(brokers))
    result = place_replicas(count, factor, brokers, start=start)
    assert len(result) == count
    for replicas in result:
        assert len(set(replicas)) == factor
        assert len({placed[node] for node in replicas}) == min(factor, len(set(placed)))
    leaders = Counter(replicas[0] for replicas in result)
    assert max(leaders.values()) - min(leaders[item.broker_id] for item in brokers) <= 1


def test_followers_of_one_leader_are_not_always_the_same() -> None:
    result = place_replicas(24, 2, [broker(number) for number in range(4)])
    followers = {replicas[1] for replicas in result if replicas[0] == 0}
    assert followers == {1, 2, 3}


def test_a_fenced_broker_leads_nothing_and_helps_only_where_it_must() -> None:
    brokers = [broker(1), broker(2), broker(3, fenced=True)]
    assert all(3 not in replicas for replicas in place_replicas(10, 2, brokers))
    assert all(replicas[2] == 3 for replicas in place_replicas(10, 3, brokers))


@pytest.mark.parametrize("brokers", [[], [broker(1)], [broker(1, fenced=True), broker(2, fenced=True)]])
def test_too_few_brokers_are_refused(brokers: list[BrokerState]) -> None:
    with pytest.raises(KafkaError) as refused:
        place_replicas(1, 2, brokers)
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
