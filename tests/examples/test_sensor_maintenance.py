"""Late readings correct a window while it is open, and are kept apart when it is closed."""

from __future__ import annotations

from typing import Any

from penstock.streams import TopologyTestDriver
from tests.examples.loading import load

sensors = load("sensor_maintenance")
MINUTE_MS = 60_000


def reading(minute: int, celsius: float) -> dict[str, Any]:
    return {"time": minute * MINUTE_MS, "celsius": celsius}


def test_a_late_reading_takes_an_alarm_back() -> None:
    with TopologyTestDriver(sensors.topology()) as driver:
        for each in (reading(0, 90.0), reading(12, 70.0), reading(3, 70.0)):
            driver.pipe(sensors.READINGS, "press-7", each, timestamp=0)
        told = [(record.value["from"], record.value["hot"]) for record in driver.read(sensors.MAINTENANCE)]
        assert told == [(0, True), (10 * MINUTE_MS, False), (0, False)]
        assert driver.read(sensors.LATE) == []


def test_a_reading_after_the_window_is_closed_is_kept_apart() -> None:
    with TopologyTestDriver(sensors.topology()) as driver:
        for each in (reading(0, 90.0), reading(30, 70.0), reading(9, 20.0), reading(10, 95.0)):
            driver.pipe(sensors.READINGS, "press-7", each, timestamp=0)
        starts = [record.value["from"] // MINUTE_MS for record in driver.read(sensors.MAINTENANCE)]
        late = [record.value for record in driver.read(sensors.LATE)]
    assert starts == [0, 30, 10], "the window from 10 to 20 still takes readings, the one before does not"
    assert late == [reading(9, 20.0)]


def test_every_reading_is_either_in_a_window_or_late() -> None:
    with TopologyTestDriver(sensors.topology()) as driver:
        for minute in (0, 45, 5, 31, 14, 15, 16, 70, 20, 41):
            driver.pipe(sensors.READINGS, "press-7", reading(minute, 50.0), timestamp=0)
        told = driver.read(sensors.MAINTENANCE)
        assert len(told) + len(driver.read(sensors.LATE)) == 10
