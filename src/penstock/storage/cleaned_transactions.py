"""What a round of compaction knows of transactions while it walks through a log.

Data of aborted ones goes. A marker is needed as long as any batch of its transaction is there, and for
`delete.retention.ms` after that, so that a reader on its way meets it. The rules are Kafka's
(`CleanedTransactionMetadata`). Told of every batch in the log's order by `penstock.storage.compaction`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from penstock.records.batch import BatchHeader
from penstock.records.control import EndMarker
from penstock.storage.aborted import Aborted, AbortedIndex


class CleanedTransactions:
    """Given all aborted transactions of the part of the log that is walked through."""

    def __init__(self, aborted: Iterable[Aborted]) -> None:
        self._coming = deque(sorted(aborted, key=lambda each: each.first_offset))
        self._aborted: dict[int, Aborted] = {}  # those that have begun and not ended yet, by producer
        self._seen: set[int] = set()  # producers with batches since their last marker
        self.index = AbortedIndex()
        """Of the segment that is being written: gets those whose markers stay needed."""

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a batch of data belongs to an aborted transaction."""
        self._reach(header.last_offset)
        if not header.is_transactional:
            return False
        self._seen.add(header.producer_id)
        return header.producer_id in self._aborted

    def is_over(self, header: BatchHeader, marker: EndMarker | None) -> bool:
        """Whether nothing is left of the transaction that this control batch ended."""
        self._reach(header.last_offset)
        if marker is None:
            return True  # was emptied before
        producer_id = header.producer_id
        aborted = None if marker.commit else self._aborted.pop(producer_id, None)
        if producer_id not in self._seen:
            return True
        self._seen.discard(producer_id)
        if aborted is not None:
            self.index.append(aborted)
        return False

    def _reach(self, offset: int) -> None:
        while self._coming and self._coming[0].first_offset <= offset:
            aborted = self._coming.popleft()
            self._aborted.setdefault(aborted.producer_id, aborted)
