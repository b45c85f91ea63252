"""Lag from what Spark reports of a query."""

from __future__ import annotations

from penstock.spark.query_lag import lag


def test_lag_is_what_lies_between_the_end_of_the_batch_and_the_end_of_the_log() -> None:
    ours = {"endOffset": {"t": {"0": 5, "1": 9}}, "latestOffset": {"t": {"0": 7, "1": 9, "2": 4}}}
    as_text = {"endOffset": '{"u": {"0": 1}}', "latestOffset": '{"u": {"0": 3}}'}
    assert lag({"sources": [ours, as_text]}) == {"t-0": 2, "t-1": 0, "t-2": 4, "u-0": 2}


def test_sources_of_others_and_ends_that_are_not_known_say_nothing() -> None:
    sources = [{"endOffset": 7, "latestOffset": 9}, {"endOffset": {"t": {"0": 1}}, "latestOffset": None}, {}]
    assert lag({"sources": sources}) == {}
