"""The text of metrics, as Prometheus' own parser reads it."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from penstock.metrics.text import Family, Sample, render, summary

LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x85\u2028\u2029"), max_size=20)


@given(st.lists(st.tuples(LABELS, st.floats(allow_nan=False)), unique_by=lambda pair: pair[0]), st.text())
def test_every_label_and_every_number_comes_back(pairs: list[tuple[str, float]], text: str) -> None:
    family = Family("a_gauge", "gauge", text, ("topic",))
    rendered = render(Sample(family, {"topic": topic}, value) for topic, value in pairs)
    found = [sample for each in text_string_to_metric_families(rendered) for sample in each.samples]
    assert [(sample.labels["topic"], sample.value) for sample in found] == pairs


def test_samples_of_one_family_stand_together_whatever_order_they_come_in() -> None:
    first, second = Family("first", "gauge", "One."), Family("second", "counter", "Two.")
    rendered = render([Sample(first, {"a": "1"}, 1), Sample(second, {}, 2), Sample(first, {"a": "2"}, 3)])
    assert rendered.splitlines() == [
        "# HELP first One.",
        "# TYPE first gauge",
        'first{a="1"} 1',
        'first{a="2"} 3',
        "# HELP second Two.",
        "# TYPE second counter",
        "second 2",
    ]


def test_a_summary_has_quantiles_a_sum_and_a_count() -> None:
    family = Family("time_ms", "summary", "Time.", ("request",))
    rendered = render(summary(family, {"request": "Produce"}, 3, 4.5, {"0.5": 1.0, "0.99": 2.5}))
    (found,) = text_string_to_metric_families(rendered)
    assert (found.name, found.type) == ("time_ms", "summary")
    assert [(sample.name, sample.labels.get("quantile"), sample.value) for sample in found.samples] == [
        ("time_ms", "0.5", 1.0),
        ("time_ms", "0.99", 2.5),
        ("time_ms_sum", None, 4.5),
        ("time_ms_count", None, 3.0),
    ]


def test_infinity_is_written_as_prometheus_reads_it() -> None:
    family = Family("a", "gauge", "")
    for value in (math.inf, -math.inf):
        (found,) = text_string_to_metric_families(render([Sample(family, {}, value)]))
        assert found.samples[0].value == value
