"""What was measured: samples of each system for each case, medians, and the ratio between the systems."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Sample = Mapping[str, float]
"""One run of one case on one system: metric name → value. A metric that could not be had is left out."""


class Metric(NamedTuple):
    """A column. The ratio is always Penstock's value over the other's."""

    name: str
    digits: int = 1
    ratio: bool = True


@dataclass(slots=True)
class Row:
    case: str
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    """By the name of the system, in the order in which they were taken."""

    def median(self, system: str, metric: str) -> float | None:
        values = [sample[metric] for sample in self.samples.get(system, ()) if metric in sample]
        return statistics.median(values) if values else None

    def ratio(self, systems: list[str], metric: str) -> float | None:
        if len(systems) < 2:
            return None
        ours, theirs = (self.median(system, metric) for system in systems[:2])
        return ours / theirs if ours is not None and theirs else None


@dataclass(slots=True)
class Table:
    title: str
    metrics: tuple[Metric, ...]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def systems(self) -> list[str]:
        return list(self.rows[0].samples) if self.rows else []

    def as_json(self) -> dict[str, Any]:
        systems = self.systems
        return {
            "title": self.title,
            "notes": self.notes,
            "rows": [
                {
                    "case": row.case,
                    "metrics": {
                        metric.name: {
                            "median": {system: row.median(system, metric.name) for system in systems},
                            "ratio": row.ratio(systems, metric.name),
                            "samples": {
                                system: [sample.get(metric.name) for sample in row.samples.get(system, ())]
                                for system in systems
                            },
                        }
                        for metric in self.metrics
                    },
                }
                for row in self.rows
            ],
        }
