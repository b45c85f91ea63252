"""Views meet the profile of their moment and the searches of the second before."""

from __future__ import annotations

from typing import Any

from penstock.streams import TopologyTestDriver
from tests.examples.loading import load

clicks = load("click_stream")


def activity(driver: TopologyTestDriver) -> list[tuple[Any, ...]]:
    return [
        (record.value["page"], record.value["name"], record.value["searched"])
        for record in driver.read(clicks.ACTIVITY)
    ]


def test_a_view_has_the_profile_and_the_search_that_led_to_it() -> None:
    with TopologyTestDriver(clicks.topology()) as driver:
        driver.pipe(clicks.PROFILES, "42", {"name": "Ann", "interests": ["cycling"]}, timestamp=0)
        driver.pipe(clicks.SEARCHES, "42", {"terms": "gravel bike"}, timestamp=5_000)
        driver.pipe(clicks.VIEWS, "42", {"page": "/products/9"}, timestamp=5_900)
        assert driver.read(clicks.ACTIVITY)[0].value == {
            "page": "/products/9",
            "name": "Ann",
            "interests": ["cycling"],
            "searched": "gravel bike",
        }


def test_a_view_that_no_search_led_to_comes_out_alone() -> None:
    with TopologyTestDriver(clicks.topology()) as driver:
        driver.pipe(clicks.SEARCHES, "42", {"terms": "gravel bike"}, timestamp=5_000)
        driver.pipe(clicks.VIEWS, "42", {"page": "/late"}, timestamp=6_500)
        driver.pipe(clicks.VIEWS, "7", {"page": "/stranger"}, timestamp=9_000)
        driver.pipe(clicks.SEARCHES, "7", {"terms": "after it"}, timestamp=20_000)
        assert activity(driver) == [("/late", None, None), ("/stranger", None, None)]


def test_a_changed_profile_counts_for_later_views_only() -> None:
    with TopologyTestDriver(clicks.topology()) as driver:
        for name, at in (("Ann", 0), ("Anna", 2_000)):
            driver.pipe(clicks.PROFILES, "42", {"name": name}, timestamp=at)
            driver.pipe(clicks.SEARCHES, "42", {"terms": "bike"}, timestamp=at + 1)
            driver.pipe(clicks.VIEWS, "42", {"page": "/"}, timestamp=at + 2)
        assert activity(driver) == [("/", "Ann", "bike"), ("/", "Anna", "bike")]
