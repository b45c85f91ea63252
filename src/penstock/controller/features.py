"""The features of a cluster and their levels (KIP-584), and decisions about them. Pure: records or a
`KafkaError` out.

`metadata.version` is the one of Kafka 4.0: clients and tools that look at it may expect what 4.0 promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from penstock.controller.image import Image
from penstock.controller.metadata_records import FeatureLevelRecord, MetadataRecord
from penstock.protocol.errors import ErrorCode, KafkaError

METADATA_VERSION: Final = 25  # 4.0-IV3
GROUP_VERSION: Final = 1  # the consumer protocol (KIP-848); without it clients refuse group.protocol=consumer
TRANSACTION_VERSION: Final = 2  # an epoch for each transaction, partitions added by writing (KIP-890)

SUPPORTED: Final[dict[str, tuple[int, int]]] = {
    "metadata.version": (METADATA_VERSION, METADATA_VERSION),
    "group.version": (0, GROUP_VERSION),
    "transaction.version": (0, TRANSACTION_VERSION),
}
"""Lowest and highest level by name."""


class Update(NamedTuple):
    """A feature and the level that it is to have."""

    name: str
    level: int
    may_lower: bool


def finalized(image: Image) -> Mapping[str, int]:
    """The levels in force: the highest, where nobody has decided otherwise."""
    return {name: image.features.get(name, highest) for name, (_, highest) in SUPPORTED.items()}


def decide_features(image: Image, updates: Sequence[Update]) -> list[MetadataRecord]:
    """All of them, or a reason why not."""
    present = finalized(image)
    for name, level, may_lower in updates:
        if name not in SUPPORTED:
            raise KafkaError(
                ErrorCode.FEATURE_UPDATE_FAILED, f"Invalid update: the feature {name} is not known."
            )
        lowest, highest = SUPPORTED[name]
        if not lowest <= level <= highest:
            why = f"{name} can be {lowest} to {highest}, not {level}"
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"Invalid update version {level}: {why}.")
        if level < present[name] and not may_lower:
            why = f"{name} is {present[name]}, and a lower level needs the downgrade to be allowed"
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"Invalid update version {level}: {why}.")
    return [FeatureLevelRecord(name, level) for name, level, _ in updates if level != present[name]]
