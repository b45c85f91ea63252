"""The numbers of a flow, and the page that lists them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.metrics.text import render
from penstock.mirror.counting import FAMILIES, LOOKS, FlowCounts, Lag, Rate
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.relaying import Relayed

PLACE = TopicPartition("orders", 0)


def relayed(next_offset: int, records: int, missed: int = 0) -> Relayed:
    return Relayed(PLACE, next_offset, records, records * 10, missed, 1_700_000_000_000, ())


def test_lag_is_what_is_not_copied_and_since_when() -> None:
    counts = FlowCounts("A", "B")
    counts.ends({PLACE: 100})
    counts.copied([relayed(60, 60)])
    assert counts.lags()[PLACE].records == 40
    assert counts.lags()[PLACE].seconds >= 0

    counts.copied([relayed(100, 40, missed=3)])

    assert counts.lags() == {PLACE: Lag(0, 0.0)}
    text = render(counts.samples())
    assert 'penstock_mirror_records_total{source="A",target="B",topic="orders",partition="0"} 100' in text
    assert (
        'penstock_mirror_missed_offsets_total{source="A",target="B",topic="orders",partition="0"} 3' in text
    )
    assert 'penstock_mirror_batches_total{source="A",target="B"} 2' in text


def test_rates_are_those_of_the_last_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "time", lambda: now)
    counts = FlowCounts("A", "B")
    counts.ends({PLACE: 0})
    assert counts.rates() == {PLACE: Rate(0.0, 0.0)}
    counts.copied([relayed(60, 60)])
    now += 2
    counts.ends({PLACE: 60})
    assert counts.rates() == {PLACE: Rate(30.0, 300.0)}
    for _ in range(LOOKS):  # nothing more: what was copied long ago counts no more
        now += 2
        counts.ends({PLACE: 60})
    assert counts.rates() == {PLACE: Rate(0.0, 0.0)}


def test_a_partition_that_is_gone_is_forgotten() -> None:
    counts = FlowCounts("A", "B")
    counts.positions({PLACE: 5})
    counts.ends({})

    assert counts.lags() == {}


def test_errors_are_counted_by_duty() -> None:
    counts = FlowCounts("A", "B")
    counts.failed("checkpoints")
    counts.failed("checkpoints")

    assert 'duty="checkpoints"} 2' in render(counts.samples())


def test_the_page_of_the_documentation_lists_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    section = page.partition("## A mirror\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    labels = [", ".join(f"`{label}`" for label in family.labels) for family in FAMILIES]
    assert rows == [
        f"| `{family.name}` | {family.kind} | {shown} | {family.help} |"
        for family, shown in zip(FAMILIES, labels, strict=True)
    ]
