"""The controller: decisions are serialised, committed by the quorum, and only then replayed.

With one voter a decision is committed when it is durable, within `submit`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import RLock
from typing import Final, Protocol, TypeVar

from penstock.controller.image import Image, replay
from penstock.controller.image_records import records_of
from penstock.controller.metadata_records import MetadataRecord, ProducerIdsRecord, decode, encode
from penstock.controller.quorum import Quorum

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = (1).to_bytes(16, "big")
PRODUCER_ID_BLOCK: Final = 1000

_log = logging.getLogger(__name__)

Result = TypeVar("Result")
Decision = tuple[list[MetadataRecord], Result]


class Watcher(Protocol):
    """Who brings the broker in line with the metadata: makes logs for new partitions, removes those of
    deleted topics."""

    def follow(self, old: Image, new: Image) -> None: ...


class Controller:
    """Owns the image. `image` may be read by anybody at any time; it changes by replay only."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum = quorum
        self._lock = RLock()
        self._watchers: list[Watcher] = []
        self._replayed_offset = 0  # the image holds everything below
        self.image = self._load()

    @property
    def last_offset(self) -> int:
        """The offset of the last record that is in the image; -1 when there is none yet."""
        return self._replayed_offset - 1

    def watch(self, watcher: Watcher) -> None:
        """Follow from the present image on; the first call brings everything."""
        with self._lock:
            watcher.follow(Image(), self.image)
            self._watchers.append(watcher)

    def refresh(self, *watchers: Watcher) -> None:
        """Let these follow once more, from the beginning: what stood in their way may be gone."""
        with self._lock:
            for watcher in watchers:
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
        self.quorum.commit([encode(record) for record in records])
        old, self.image = self.image, self._replay_committed(self.image)
        for watcher in self._watchers:
            watcher.follow(old, self.image)
        if self.quorum.wants_snapshot:
            try:
                self.write_snapshot()
            except OSError as error:
                # The decision stands without it: the log holds everything, and the next one tries again.
                _log.warning("no snapshot of the metadata can be written: %s", error)

    def write_snapshot(self) -> None:
        """Keep the image beside the log, so that the next start replays only what comes after."""
        with self._lock:
            values = [encode(record) for record in records_of(self.image)]
            self.quorum.write_snapshot(values, self._replayed_offset)

    def _load(self) -> Image:
        """The image of everything that is committed: the latest snapshot, and the log behind it."""
        snapshot, values = self.quorum.snapshot()
        image = replay(Image(), [decode(value) for value in values])
        self._replayed_offset = snapshot.offset if snapshot is not None else 0
        return self._replay_committed(image)

    def _replay_committed(self, image: Image) -> Image:
        """Each batch was one atomic step. What is replayed is what was written, never what was meant."""
        for offset, values in self.quorum.steps_from(self._replayed_offset):
            if values:
                image = replay(image, [decode(value) for value in values])
            self._replayed_offset = offset
        return image
