"""The controller of a single node: decisions are serialised, written to the metadata log, synced, and only
then replayed.

A quorum of several voters will put Raft between the append and the replay; who calls `submit` will not
notice.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Final, Protocol, TypeVar

from penstock.controller.image import Image, replay
from penstock.controller.metadata_records import MetadataRecord, ProducerIdsRecord, decode, encode
from penstock.records.batch import iter_headers
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.storage.log import Log

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = (1).to_bytes(16, "big")
PRODUCER_ID_BLOCK: Final = 1000
_READ_BYTES: Final = 1 << 20

Result = TypeVar("Result")
Decision = tuple[list[MetadataRecord], Result]


class Watcher(Protocol):
    """Who brings the broker in line with the metadata: makes logs for new partitions, removes those of
    deleted topics."""

    def follow(self, old: Image, new: Image) -> None: ...


class Controller:
    """Owns the image. `image` may be read by anybody at any time; it changes by replay only."""

    def __init__(self, log: Log, now_ms: Callable[[], int], leader_epoch: int = 0) -> None:
        self._log = log
        self._now_ms = now_ms
        self._leader_epoch = leader_epoch
        self._lock = RLock()
        self._watchers: list[Watcher] = []
        self.image = _load(log)

    @property
    def last_offset(self) -> int:
        """The offset of the last record that is in the image; -1 when there is none yet."""
        return self._log.log_end_offset - 1

    def watch(self, watcher: Watcher) -> None:
        """Follow from the present image on; the first call brings everything."""
        with self._lock:
            watcher.follow(Image(), self.image)
            self._watchers.append(watcher)

    def refresh(self) -> None:
        """Let everybody follow once more: what stood in somebody's way may be gone."""
        with self._lock:
            for watcher in self._watchers:
                watcher.follow(Image(), self.image)

    def submit(self, decide: Callable[[Image], Decision[Result]]) -> Result:
        """Take one decision. When this returns, its records are durable and everybody here has followed."""
        with self._lock:
            records, result = decide(self.image)
            if records:
                self._commit(records)
            return result

    def allocate_producer_ids(self, broker_id: int) -> range:
        """A block of producer ids that nobody else gets, not even after a crash."""

        def decide(image: Image) -> Decision[range]:
            first = image.next_producer_id
            block = range(first, first + PRODUCER_ID_BLOCK)
            return [ProducerIdsRecord(broker_id, -1, block.stop)], block

        return self.submit(decide)

    def _commit(self, records: list[MetadataRecord]) -> None:
        now = self._now_ms()
        batch = encode_batch([Record(None, encode(record), (), now) for record in records])
        self._log.append(memoryview(batch), leader_epoch=self._leader_epoch, origin="coordinator")
        self._log.flush()
        old, self.image = self.image, replay(self.image, records)
        for watcher in self._watchers:
            watcher.follow(old, self.image)


def _load(log: Log) -> Image:
    """The image of everything in the metadata log; each batch was one atomic step."""
    image, offset = Image(), log.log_start_offset
    while (piece := log.read(offset, _READ_BYTES)) is not None:
        data = memoryview(piece.read())
        for position, header in iter_headers(data):
            if not header.is_control:
                values = (record.value for record in decode_batch(data, position))
                image = replay(image, [decode(value) for value in values if value is not None])
            offset = header.next_offset
    return image
