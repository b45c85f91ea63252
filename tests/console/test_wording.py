"""Numbers and durations as words."""

from __future__ import annotations

import pytest

from penstock.client.errors import BrokerUnreachable
from penstock.console.wording import counted, duration, number, rate, unreachable_advice


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("604800000", "7 days"),
        ("86400000", "1 day"),
        ("5400000", "90 minutes"),
        ("1500", "1,500 ms"),
        ("-1", "forever"),
        (None, "–"),
        ("soon", "soon"),
    ],
)
def test_a_duration_is_told_in_the_largest_unit_that_fits(setting: str | None, words: str) -> None:
    assert duration(setting) == words


def test_numbers_have_separators_and_unknowns_a_dash() -> None:
    assert number(1234567) == "1,234,567"
    assert number(None) == "–"
    assert [rate(value) for value in (None, 0.0, 1.25, 12.5, 1234.5)] == ["–", "0", "1.2", "12", "1,234"]
    assert [counted(n, "topic") for n in (0, 1, 2)] == ["0 topics", "1 topic", "2 topics"]


def test_advice_has_a_reason_even_when_none_is_known() -> None:
    assert unreachable_advice(BrokerUnreachable("h:1", 1.0)).startswith("No answer in time.")
