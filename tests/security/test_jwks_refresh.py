"""When the keys of an issuer are asked for again."""

from __future__ import annotations

from penstock.security.jwks_refresh import EXPEDITE_MS, JwksRefresh


def plan() -> JwksRefresh:
    return JwksRefresh(0, refresh_ms=60_000, backoff_ms=100, backoff_max_ms=500)


def test_the_first_fetch_is_due_at_once_and_the_next_after_the_interval() -> None:
    refresh = plan()
    assert refresh.due_ms == 0
    refresh.succeeded(50)
    assert refresh.due_ms == 60_050


def test_pauses_between_failures_grow_up_to_the_longest() -> None:
    refresh = plan()
    pauses = []
    for _ in range(5):
        refresh.failed(0)
        pauses.append(refresh.due_ms)
    assert pauses == [100, 200, 400, 500, 500]
    refresh.succeeded(0)
    refresh.failed(0)
    assert refresh.due_ms == 100


def test_an_unknown_key_expedites_the_next_fetch_once_in_a_while() -> None:
    refresh = plan()
    refresh.succeeded(0)
    assert refresh.expedite(1000)
    assert refresh.due_ms == 1000
    refresh.succeeded(1000)
    assert not refresh.expedite(1001)
    assert refresh.due_ms == 61_000
    assert refresh.expedite(1000 + EXPEDITE_MS)
