"""How far a query is behind, from the progress that Spark reports of it.

Spark's own Kafka source reports lag as metrics, which the Python API has no place for; what is reported is
`latestOffset`, the end of each partition when the batch was done, beside `endOffset`, where the batch ended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.metrics.pipelines import Place


def lag(progress: Mapping[str, Any]) -> dict[str, int]:
    """Offsets still to read by partition (`topic-0`), from `query.lastProgress` or an element of
    `query.recentProgress`; partitions of all sources of the query that are ours.
    """
    return {f"{place.topic}-{place.partition}": behind for place, behind in lag_by_place(progress).items()}


def lag_by_place(progress: Mapping[str, Any]) -> dict[Place, int]:
    """The same by topic and partition; empty of an empty report."""
    behind: dict[Place, int] = {}
    for source in progress.get("sources", ()):
        latest, done = _offsets(source.get("latestOffset")), _offsets(source.get("endOffset"))
        for topic, partitions in latest.items():
            for partition, end in partitions.items():
                read = done.get(topic, {}).get(partition, 0)
                behind[Place(topic, int(partition))] = max(0, end - read)
    return behind


def _offsets(reported: Any) -> dict[str, dict[str, int]]:
    """Offsets come parsed or as text, as the version of Spark has it; other sources have other forms."""
    if isinstance(reported, str):
        try:
            reported = json.loads(reported)
        except ValueError:
            return {}
    if not isinstance(reported, dict):
        return {}
    return {topic: partitions for topic, partitions in reported.items() if isinstance(partitions, dict)}
