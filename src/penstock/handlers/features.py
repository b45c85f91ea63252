"""The features that this broker has, with the levels of KIP-584, as ApiVersions announces them.

`metadata.version` is the one of Kafka 4.0: clients and tools that look at it may expect what 4.0 promises.
"""

from __future__ import annotations

from typing import Final

METADATA_VERSION: Final = 25  # 4.0-IV3
GROUP_VERSION: Final = 1  # the consumer protocol (KIP-848); without it clients refuse group.protocol=consumer
TRANSACTION_VERSION: Final = 2  # an epoch for each transaction, partitions added by writing (KIP-890)

SUPPORTED: Final[dict[str, tuple[int, int]]] = {
    "metadata.version": (METADATA_VERSION, METADATA_VERSION),
    "group.version": (0, GROUP_VERSION),
    "transaction.version": (0, TRANSACTION_VERSION),
}
"""Lowest and highest level by name."""

FINALIZED: Final[dict[str, int]] = {
    "metadata.version": METADATA_VERSION,
    "group.version": GROUP_VERSION,
    "transaction.version": TRANSACTION_VERSION,
}
"""The level that is in force. With one node it is the one that the node has."""
