"""Records of assigned partitions as Arrow batches, fetched by our own connection (`penstock.wire`).

librdkafka keeps the membership in the group and the committed offsets; its own fetching is paused. A poll
asks where each partition ends and takes whole stored batches, one partition after the other in turns, so that
none starves. With nothing new it asks again, after pauses that grow to a twentieth of a second.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from penstock.client.api.exceptions import KafkaException, OffsetOutOfRangeException, TimeoutException
from penstock.client.api.records import TopicPartition
from penstock.protocol.topic_partition import TopicPartition as Place
from penstock.records.walk import ColumnBuilder
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import OffsetOutOfRange, WireError
from penstock.wire.fetch import FetchOptions, fetch

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = 100_000
MOST_BYTES: Final = 64 * 1024 * 1024
_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05


class ArrowReader:
    def __init__(self, cluster: Cluster, *, read_committed: bool, api_timeout: float) -> None:
        self._cluster = cluster
        self._options = FetchOptions(read_committed=read_committed, idle_seconds=api_timeout)
        self._read_committed = read_committed
        self._api_timeout = api_timeout
        self._turns: deque[TopicPartition] = deque()

    def close(self) -> None:
        self._cluster.close()

    def poll(
        self,
        positions: Mapping[TopicPartition, int],
        seconds: float,
        check_woken: Callable[[], None],
    ) -> tuple[pa.RecordBatch | None, dict[TopicPartition, int]]:
        """The next batch, None after `seconds`, and where the partitions that it comes from go on."""
        from penstock.client.arrow.stored import UnreadableBatch

        deadline = time.monotonic() + seconds
        pause = _FIRST_PAUSE
        self._take_turns(positions)
        while True:
            check_woken()
            try:
                found = self._gather(positions, self._ends(positions))
            except OffsetOutOfRange as error:
                raise OffsetOutOfRangeException(f"Cannot read on: {error}.") from error
            except UnreadableBatch as error:
                raise KafkaException(f"Cannot read on: {error}.") from error
            except WireError as error:
                raise TimeoutException(f"Could not read: {error}.", "_TIMED_OUT") from error
            if found is not None:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                return None, {}
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _take_turns(self, positions: Collection[TopicPartition]) -> None:
        known = [at for at in self._turns if at in positions]
        self._turns = deque([*known, *(at for at in positions if at not in set(known))])

    def _ends(self, positions: Mapping[TopicPartition, int]) -> dict[Place, int]:
        places = [Place(*at) for at in positions]
        if not places:
            return {}
        deadline = Deadline(self._api_timeout)
        return offsets.latest(self._cluster, places, deadline, read_committed=self._read_committed)

    def _gather(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[Place, int]
    ) -> tuple[pa.RecordBatch, dict[TopicPartition, int]] | None:
        """Of the first partition in turn that has something."""
        for _ in range(len(self._turns)):
            at = self._turns[0]
            self._turns.rotate(-1)
            start, end = positions[at], ends[Place(*at)]
            if start < end:
                batch, position = self._read(at, start, end)
                if position > start:
                    return batch, {at: position}
        return None

    def _read(self, at: TopicPartition, start: int, end: int) -> tuple[pa.RecordBatch, int]:
        import pyarrow as pa

        from penstock.client.arrow.columns import SCHEMA, BatchMaker
        from penstock.client.arrow.stored import add_stored

        builder = ColumnBuilder(keys=True, values=True, headers=True)
        position = start
        for stored in fetch(self._cluster, Place(*at), start, end, self._options):
            add_stored(builder, stored, Place(*at), start, end)
            position = min(stored.header.next_offset, end)
            if builder.rows >= MOST_ROWS or builder.size_bytes >= MOST_BYTES:
                break
        else:
            position = end
        if not builder.rows:
            return pa.RecordBatch.from_pylist([], schema=SCHEMA), position
        return BatchMaker(SCHEMA, *at).whole(builder.take()), position
