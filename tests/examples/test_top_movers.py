"""The ten largest moves of a day, from the prices of all symbols."""

from __future__ import annotations

from penstock.streams import TopologyTestDriver
from tests.examples.loading import load

top_movers = load("top_movers")
DAY_MS = 24 * 3600 * 1000
FIFTH_OF_JANUARY = 1767571200000


def test_the_top_ten_are_ranked_by_how_far_they_moved_up_or_down() -> None:
    with TopologyTestDriver(top_movers.topology()) as driver:
        for number in range(12):
            for price in (100.0, 100.0 + number * (-1) ** number):
                driver.pipe(
                    top_movers.TRADES, f"S{number:02}", {"ask": price}, timestamp=FIFTH_OF_JANUARY + number
                )
        last = driver.read(top_movers.MOVERS)[-1]
    assert last.key == "2026-01-05"
    assert [move["symbol"] for move in last.value] == [f"S{number:02}" for number in range(11, 1, -1)]
    assert last.value[0] == {"symbol": "S11", "percent": -11.0}


def test_a_symbol_that_falls_back_leaves_its_place_to_the_next_one() -> None:
    with TopologyTestDriver(top_movers.topology()) as driver:
        for symbol, price in (("A", 100.0), ("A", 120.0), ("B", 100.0), ("B", 110.0), ("A", 100.0)):
            driver.pipe(top_movers.TRADES, symbol, {"ask": price}, timestamp=FIFTH_OF_JANUARY)
        assert [move["symbol"] for move in driver.read(top_movers.MOVERS)[-1].value] == ["B", "A"]


def test_every_day_has_a_list_of_its_own() -> None:
    with TopologyTestDriver(top_movers.topology()) as driver:
        for day in (0, 1):
            for price in (100.0, 105.0 + day):
                driver.pipe(top_movers.TRADES, "A", {"ask": price}, timestamp=FIFTH_OF_JANUARY + day * DAY_MS)
        lists = {record.key: record.value[0]["percent"] for record in driver.read(top_movers.MOVERS)}
    assert lists == {"2026-01-05": 5.0, "2026-01-06": 6.0}
