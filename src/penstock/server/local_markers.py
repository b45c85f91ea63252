"""Markers for transactions that end, written to the partitions of this node.

Whoever learns that the end of a transaction is committed writes them, without any lock of a coordinator: the
request that ended it, as a rule, so that its producer is not told to come again when it begins the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from penstock.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.markers import TransactionMarker
from penstock.replication.partitions import Partitions
from penstock.storage.errors import StorageError
from penstock.transactions.markers import Ending
from penstock.transactions.transaction import TopicPartition

_log = logging.getLogger(__name__)


class LocalMarkers:
    """Speaks `transactions.markers:Markers`. `exists` says whether the metadata has a partition: one that is
    only out of reach gets its marker later."""

    def __init__(
        self, partitions: Partitions, groups: GroupCoordinator, exists: Callable[[str, int], bool]
    ) -> None:
        self._partitions = partitions
        self._groups = groups
        self._exists = exists

    def write(self, ending: Ending, done: Callable[[frozenset[TopicPartition]], None]) -> None:
        marker = TransactionMarker(
            ending.producer_id,
            ending.producer_epoch,
            ending.coordinator_epoch,
            ending.commit,
            ending.transaction_version,
        )
        rest = frozenset(place for place in sorted(ending.partitions) if not self._ended(marker, *place))
        done(rest)

    def _ended(self, marker: TransactionMarker, topic: str, index: int) -> bool:
        """Whether the transaction has come to its end in this partition."""
        try:
            if topic == OFFSETS_TOPIC:
                self._groups.runtime.append_marker(index, marker)
            else:
                self._partitions.get(topic, index).append_marker(marker)
        except KafkaError as error:
            if error.code is ErrorCode.INVALID_PRODUCER_EPOCH:
                return True  # a later epoch of the producer has been ended here, and this one with it
            if not self._exists(topic, index):
                return True
            _log.info("the marker for %s-%d is written later: %s", topic, index, error)
            return False
        except (OSError, StorageError) as error:
            _log.error(
                "the marker for %s-%d could not be written, and is tried again: %s", topic, index, error
            )
            return False
        return True
