"""Statistics of hopping windows are told once, when a window is over, and late trades count."""

from __future__ import annotations

from typing import Any

from penstock.streams import TopologyTestDriver
from tests.examples.loading import load

stock_windows = load("stock_windows")


def trade(seconds: str, ask: float) -> dict[str, Any]:
    return {"symbol": "AAPL", "ask": ask, "size": 100, "time": f"2026-01-05T14:30:{seconds}Z"}


def test_every_window_is_told_once_with_the_late_trade_in_it() -> None:
    with TopologyTestDriver(stock_windows.topology()) as driver:
        for each in (trade("10.100", 191.0), trade("11.900", 193.0), trade("10.700", 189.0)):
            driver.pipe(stock_windows.TRADES, "AAPL", each, timestamp=0)
        assert driver.read(stock_windows.STATISTICS) == [], "no window is over yet"
        driver.pipe(stock_windows.TRADES, "AAPL", trade("30.000", 200.0), timestamp=0)
        told = [record.value for record in driver.read(stock_windows.STATISTICS)]
    assert [value["window_start"][-3:-1] for value in told] == ["06", "07", "08", "09", "10", "11"]
    assert told[0] == {
        "symbol": "AAPL",
        "window_start": "2026-01-05T14:30:06Z",
        "window_end": "2026-01-05T14:30:11Z",
        "minimum_ask": 189.0,
        "trades": 2,
        "average_ask": 190.0,
    }
    assert (told[4]["trades"], told[4]["average_ask"]) == (3, 191.0)


def test_a_trade_that_is_too_late_changes_nothing_and_one_without_a_time_is_skipped() -> None:
    with TopologyTestDriver(stock_windows.topology()) as driver:
        driver.pipe(stock_windows.TRADES, "AAPL", trade("30.000", 200.0), timestamp=0)
        driver.pipe(stock_windows.TRADES, "AAPL", trade("10.000", 1.0), timestamp=0)
        driver.pipe(stock_windows.TRADES, "AAPL", {"ask": 1.0}, timestamp=0)
        driver.pipe(stock_windows.TRADES, "AAPL", trade("50.000", 200.0), timestamp=0)
        told = [record.value for record in driver.read(stock_windows.STATISTICS)]
    assert {value["minimum_ask"] for value in told} == {200.0}
    assert len(told) == 5
