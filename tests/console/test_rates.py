"""Records a second from ends seen now and then."""

from __future__ import annotations

from penstock.console.rates import GAP_S, HISTORY, Rates


def test_a_topic_seen_once_has_no_rate() -> None:
    assert Rates().update({"a": 10}, 0.0) == {"a": None}


def test_the_rate_is_the_growth_over_the_window() -> None:
    rates = Rates()
    rates.update({"a": 0}, 0.0)
    assert rates.update({"a": 100}, 1.0) == {"a": 100.0}
    assert rates.update({"a": 100}, 2.0) == {"a": 50.0}


def test_what_is_older_than_the_window_no_longer_counts() -> None:
    rates = Rates()
    for second, end in enumerate([0, 1000, 1000, 1000, 1000, 1000, 1000]):
        latest = rates.update({"a": end}, float(second))
    assert latest == {"a": 0.0}


def test_a_topic_created_anew_starts_anew() -> None:
    rates = Rates()
    rates.update({"a": 1000}, 0.0)
    assert rates.update({"a": 5}, 1.0) == {"a": None}
    assert rates.update({"a": 10}, 2.0) == {"a": 5.0}


def test_an_unknown_end_gives_an_unknown_rate() -> None:
    rates = Rates()
    rates.update({"a": 1}, 0.0)
    assert rates.update({"a": None}, 1.0) == {"a": None}


def test_history_is_bounded_and_forgotten_with_the_topic() -> None:
    rates = Rates()
    for second in range(3 * HISTORY):
        rates.update({"a": second}, float(second))
    assert len(rates.history("a")) == HISTORY
    rates.update({}, 3.0 * HISTORY)
    assert rates.history("a") == []


def test_after_a_gap_in_watching_everything_starts_anew() -> None:
    rates = Rates()
    rates.update({"a": 0}, 0.0)
    rates.update({"a": 100}, 1.0)
    assert rates.update({"a": 1_000_000}, 2.0 + GAP_S) == {"a": None}
    assert len(rates.history("a")) == 1
