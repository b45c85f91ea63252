"""How far queries have read, and how many consumers topics have: what the extended forms of SHOW and DESCRIBE
ask the brokers. Blocking.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.client.admin import Admin
from penstock.client.groups import Groups


def offset_summaries(admin: Admin, group_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Of each group the topics that it reads, with starts, ends and its own place."""
    committed = Groups(admin).committed_of_all(list(group_ids))
    places = [place for found in committed.values() for place in found]
    starts, ends = admin.start_offsets(places), admin.end_offsets(places)
    summaries = []
    for group_id, found in sorted(committed.items()):
        topics: dict[str, list[dict[str, int]]] = {}
        for place, offset in sorted(found.items()):
            topics.setdefault(place[0], []).append(
                {
                    "partition": place[1],
                    "logStartOffset": starts.get(place, 0),
                    "logEndOffset": ends.get(place, offset),
                    "consumerOffset": offset,
                }
            )
        listed = [{"kafkaTopic": name, "offsets": offsets} for name, offsets in topics.items()]
        summaries.append({"groupId": group_id, "topicSummaries": listed})
    return summaries


def consumers(admin: Admin) -> dict[str, tuple[int, int]]:
    """By topic, how many consumers read it, and how many groups they are of."""
    found: dict[str, tuple[int, int]] = {}
    for group in Groups(admin).describe_all():
        readers: dict[str, int] = {}
        for member in group.members:
            for topic in {topic for topic, _ in member.partitions}:
                readers[topic] = readers.get(topic, 0) + 1
        for topic, count in readers.items():
            before = found.get(topic, (0, 0))
            found[topic] = (before[0] + count, before[1] + 1)
    return found
