"""The features of a cluster and their levels (KIP-584), and decisions about them. Pure: records or a
`KafkaError` with Kafka's sentence out.

The levels are those of Kafka 4.2, so that clients and tools find what they expect of it. On purpose unlike
Kafka: nothing depends on `metadata.version`, whose levels below 4.0 are not offered; eligible leader replicas
are always on; and the voters of the quorum are fixed by settings, which is level 0 of `kraft.version`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from penstock.controller.image import Image
from penstock.controller.metadata_records import FeatureLevelRecord, MetadataRecord
from penstock.protocol.errors import ErrorCode, KafkaError

LOWEST_METADATA_VERSION: Final = 25  # 4.0-IV3
METADATA_VERSION: Final = 29  # 4.2-IV1
GROUP_VERSION: Final = 1  # the consumer protocol (KIP-848); without it clients refuse group.protocol=consumer
SHARE_VERSION: Final = 1  # share groups (KIP-932)
TRANSACTION_VERSION: Final = 2  # an epoch for each transaction, partitions added by writing (KIP-890)

SUPPORTED: Final[dict[str, tuple[int, int]]] = {
    "metadata.version": (LOWEST_METADATA_VERSION, METADATA_VERSION),
    "kraft.version": (0, 0),
    "group.version": (0, GROUP_VERSION),
    "transaction.version": (0, TRANSACTION_VERSION),
    "eligible.leader.replicas.version": (1, 1),
    "share.version": (0, SHARE_VERSION),
}
"""Lowest and highest level by name."""


class UpgradeType(IntEnum):
    """Kafka's codes: may the level go down, and what may be lost by it?"""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class Update(NamedTuple):
    """A feature, the level that it is to have, and an `UpgradeType` as the client wrote it."""

    name: str
    level: int
    upgrade_type: int


def finalized(image: Image) -> Mapping[str, int]:
    """The levels in force: the highest, unless another was decided. Level 0 is a feature that is
    switched off, and is not listed."""
    levels = {name: image.features.get(name, highest) for name, (_, highest) in SUPPORTED.items()}
    return {name: level for name, level in levels.items() if level > 0}


def decide_features(image: Image, updates: Sequence[Update], node_id: int) -> list[MetadataRecord]:
    """The records of all updates; KafkaError when one of them cannot be. `node_id` is the active controller,
    which the sentences name."""
    present = finalized(image)
    for update in updates:
        problem = _problem(update, present.get(update.name, 0), node_id)
        if problem is not None:
            message = (
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.level} for feature {update.name}. {problem}"
            )
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)
    return [
        FeatureLevelRecord(update.name, update.level)
        for update in updates
        if update.level != present.get(update.name, 0)
    ]


def _problem(update: Update, present: int, node_id: int) -> str | None:
    if update.upgrade_type not in set(UpgradeType):
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    if update.name not in SUPPORTED:
        return f"Local controller {node_id} does not support this feature."
    lowest, highest = SUPPORTED[update.name]
    if not lowest <= update.level <= highest:
        return f"Local controller {node_id} only supports versions {lowest}-{highest}"
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if update.level < present and is_upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    if update.level > present and not is_upgrade:
        return "Can't downgrade to a newer version."
    return None
