"""Which topics are shown in which order, and how little is sent when only numbers change."""

from __future__ import annotations

from penstock.console.components.topic_table import TopicView, _changes, _row
from penstock.console.overview import TopicStats


def stats(
    name: str, records: int | None = 0, rate: float | None = None, internal: bool = False
) -> TopicStats:
    return TopicStats(name, internal, 1, 1, records, rate, None, ())


TOPICS = [stats("b", 5, 1.0), stats("a", None, 9.0), stats("__c", 7, None, internal=True)]


def names(view: TopicView) -> list[str]:
    return [topic.name for topic in view.chosen(TOPICS)]


def test_names_are_in_order_and_internal_topics_hidden() -> None:
    assert names(TopicView()) == ["a", "b"]
    assert names(TopicView(internal=True)) == ["__c", "a", "b"]


def test_numbers_sort_from_the_largest_with_unknown_ones_last() -> None:
    by_records = TopicView(internal=True).sorted_by("records")
    assert names(by_records) == ["__c", "b", "a"]
    assert names(by_records.sorted_by("records")) == ["a", "b", "__c"]


def test_sorting_by_another_column_keeps_the_search() -> None:
    assert TopicView(search="x").sorted_by("rate") == TopicView("x", False, "rate", True)


def test_a_column_that_is_not_there_changes_nothing() -> None:
    assert TopicView().sorted_by("__class__") == TopicView()


def test_only_what_changed_is_sent() -> None:
    before = [_row(stats("a", 1, 0.0)), _row(stats("b", 2, 0.0))]
    after = [_row(stats("a", 1, 0.0)), _row(stats("b", 3, 1.5))]
    assert _changes(before, after) == {"b": {"records": 3, "rate": 1.5}}
