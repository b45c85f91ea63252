"""Markers for transactions that end, written to the partitions that this node leads.

The thread that learns first that the end of a transaction is committed writes them, without any lock of a
coordinator. Mostly that is the request that ended it, so its producer can begin the next one at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from penstock.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.markers import TransactionMarker
from penstock.replication.partitions import Partitions
from penstock.storage.errors import StorageError

_log = logging.getLogger(__name__)


class LocalMarkers:
    """Part of `server.cluster.cluster_markers`, and all of it on a single node. `exists` says whether the
    metadata has a partition: one that is only out of reach gets its marker later."""

    def __init__(
        self, partitions: Partitions, groups: GroupCoordinator, exists: Callable[[str, int], bool]
    ) -> None:
        self._partitions = partitions
        self._groups = groups
        self._exists = exists

    def write(self, marker: TransactionMarker, topic: str, index: int, tell: Callable[[bool], None]) -> None:
        """Call `tell` with whether the transaction has come to its end in this partition, when that is
        known."""
        try:
            partition = self._partitions.get(topic, index)
            epoch = partition.leader_epoch
            if topic == OFFSETS_TOPIC:
                end_offset = self._groups.runtime.append_marker(index, marker)
            else:
                end_offset = partition.append_marker(marker).last_offset + 1
        except KafkaError as error:
            # A later epoch of the producer has been ended here, and this one with it; or the topic is gone.
            ended = error.code is ErrorCode.INVALID_PRODUCER_EPOCH or not self._exists(topic, index)
            if not ended:
                _log.info("the marker for %s-%d is written later: %s", topic, index, error)
            tell(ended)
        except (OSError, StorageError) as error:
            _log.error(
                "the marker for %s-%d could not be written, and is tried again: %s", topic, index, error
            )
            tell(False)
        else:
            partition.when_acknowledged(end_offset, epoch, lambda code: tell(code is ErrorCode.NONE))
