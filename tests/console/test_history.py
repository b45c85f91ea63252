"""The last hour for the charts."""

from __future__ import annotations

from penstock.console.history import History


def test_all_series_have_as_many_values_as_there_are_moments() -> None:
    history = History(points=3)
    history.add(1, {"a": 1.0})
    history.add(2, {"a": 2.0, "b": 5.0})
    history.add(3, {"b": 6.0})
    assert history.moments == [1, 2, 3]
    assert history.series(["a", "b", "c"]) == {"a": [1.0, 2.0, None], "b": [None, 5.0, 6.0]}


def test_old_points_go_and_a_series_without_a_value_left_is_forgotten() -> None:
    history = History(points=2)
    history.add(1, {"a": 1.0})
    history.add(2, {"b": 2.0})
    history.add(3, {"b": 3.0})
    assert history.series(["a", "b"]) == {"b": [2.0, 3.0]}
