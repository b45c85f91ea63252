"""Preferred replicas lead again where they can: what `auto.leader.rebalance.enable` asks for. Pure."""

from __future__ import annotations

from typing import Final

from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.partition_changes import decide_change
from penstock.controller.rules import RulesOf

MAX_CHANGES: Final = 1000
"""Of one decision; what is left waits for the next look."""


def decide_preferred(image: Image, rules_of: RulesOf) -> list[MetadataRecord]:
    """A change for each partition whose first replica is in sync, active, and does not lead."""
    records: list[MetadataRecord] = []
    for topic in image.topics.values():
        for index, state in enumerate(topic.partitions):
            if state.leader == state.replicas[0] or state.replicas[0] not in state.isr:
                continue
            record = decide_change(
                topic.topic_id,
                index,
                state,
                rules_of(topic.name),
                image.is_active,
                prefer_first=True,
                is_online=image.is_online,
            )
            if record is not None:
                records.append(record)
            if len(records) == MAX_CHANGES:
                return records
    return records
