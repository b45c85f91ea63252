"""What clients have used: who shares a quota, what happens when it changes, and that memory is bounded."""

from __future__ import annotations

import pytest

from penstock.quotas import clients
from penstock.quotas.clients import FETCH, MUTATION, PRODUCE, REQUEST, ClientQuotas
from penstock.quotas.entities import Quotas, entity
from penstock.quotas.rates import Window


class HandClock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def now_ms(self) -> int:
        raise AssertionError("quotas are about durations, not about the time of day")

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def quotas(clock: HandClock) -> ClientQuotas:
    return ClientQuotas(clock, Window(11, 1000), Window(11, 1000))


def of_user(user: str | None, **values: float) -> Quotas:
    return {entity({"user": user}): values}


def test_without_quotas_nobody_is_muted(quotas: ClientQuotas) -> None:
    assert quotas.produced("u", "c", 10**12) == 0
    assert quotas.fetched("u", "c", 10**12) == 0
    assert not quotas.limits_requests
    assert quotas.mutations("u", "c", strict=True).take(10**9)
    assert quotas.largest_fetch("u", "c") is None


def test_connections_of_one_user_share_a_quota_and_others_have_their_own(quotas: ClientQuotas) -> None:
    quotas.update(of_user(None, **{PRODUCE: 100.0}))
    assert quotas.produced("u", "a", 1000) == 0
    assert quotas.produced("u", "b", 1000) == 10_000
    assert quotas.produced("v", "a", 1000) == 0


def test_a_fetch_that_is_too_large_is_not_accounted_for(quotas: ClientQuotas) -> None:
    quotas.update(of_user("u", **{FETCH: 100.0}))
    assert quotas.largest_fetch("u", "c") == 1000
    assert quotas.fetched("u", "c", 1500) > 0
    assert quotas.fetched("u", "c", 1000) == 0


def test_a_request_mutes_for_one_sample_at_most(quotas: ClientQuotas) -> None:
    quotas.update(of_user("u", **{REQUEST: 1.0}))
    assert quotas.limits_requests
    assert quotas.spent("u", "c", 0.05) == 0
    assert quotas.spent("u", "c", 60.0) == 1000


def test_a_new_limit_holds_at_once_and_a_removed_one_no_more(quotas: ClientQuotas) -> None:
    quotas.update(of_user("u", **{PRODUCE: 100.0}))
    assert quotas.produced("u", "c", 2000) > 0
    quotas.update(of_user("u", **{PRODUCE: 1000.0}))
    assert quotas.produced("u", "c", 2000) == 0
    quotas.update({})
    assert quotas.produced("u", "c", 10**9) == 0


def test_a_strict_quota_refuses_once_it_is_overdrawn(quotas: ClientQuotas, clock: HandClock) -> None:
    quotas.update(of_user("u", **{MUTATION: 1.0}))
    first = quotas.mutations("u", "c", strict=True)
    assert [first.take(8), first.take(8), first.take(8)] == [True, True, False]
    assert first.throttle_ms() == 5000
    clock.seconds += 2
    assert first.throttle_ms() == 3000
    assert not quotas.mutations("u", "c", strict=True).take(1)
    clock.seconds += 3
    assert quotas.mutations("u", "c", strict=True).take(1)


def test_a_permissive_quota_gives_everything_and_mutes(quotas: ClientQuotas) -> None:
    quotas.update(of_user("u", **{MUTATION: 1.0}))
    quota = quotas.mutations("u", "c", strict=False)
    assert [quota.take(8), quota.take(8)] == [True, True]
    assert quota.throttle_ms() == 5000


def test_memory_is_bounded_however_many_clients_come(
    quotas: ClientQuotas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MAX_CLIENTS", 10)
    quotas.update({entity({"client-id": None}): {PRODUCE: 100.0}})
    for index in range(50):
        quotas.produced("u", "kept", 100)
        quotas.produced("u", f"client-{index}", 10)
    assert len(quotas._produce._meters) == 10
    assert len(quotas._produce._limits) == 10
    assert quotas.produced("u", "kept", 1) > 0, "who is active is not forgotten"
