"""Producer ids: the controller gives them to brokers a block at a time, a broker gives them out one by
one."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord, ProducerIdsRecord
from penstock.coordinator.promise import Promise
from penstock.protocol.errors import ErrorCode, KafkaError

PRODUCER_ID_BLOCK: Final = 1000
_AHEAD: Final = 100  # so many ids are left when the next block is asked for


def decide_producer_ids(
    image: Image, broker_id: int, broker_epoch: int
) -> tuple[list[MetadataRecord], range]:
    """A block of producer ids that no other broker gets, not even after a crash."""
    first = image.next_producer_id
    block = range(first, first + PRODUCER_ID_BLOCK)
    return [ProducerIdsRecord(broker_id, broker_epoch, block.stop)], block


class ProducerIds:
    """Never the same id twice in this cluster, also after a crash: what is left of a block is then lost."""

    def __init__(self, allocate: Callable[[], Promise[range]]) -> None:
        self._allocate = allocate
        self._lock = Lock()
        self._left = range(0)
        self._coming: Promise[range] | None = None

    def next(self) -> int:
        """A new id. When the controller is slow to give more, COORDINATOR_LOAD_IN_PROGRESS, as in Kafka: the
        client asks again. The controller's lock comes before a shard's: not to be called under one."""
        with self._lock:
            if len(self._left) <= _AHEAD and self._coming is None:
                self._coming = self._allocate()
            if not self._left:
                self._take_next_block()
            first, self._left = self._left[0], self._left[1:]
            return first

    def _take_next_block(self) -> None:
        coming = self._coming
        if coming is None or not coming.done:
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The next producer ids are on their way."
            )
        self._coming = None
        if coming.broken:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The controller gave no producer ids.")
        self._left = coming.result()
