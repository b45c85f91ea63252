"""What the load generator shall do: connections of producers and consumers with the frames they send.

`load.c` says what each line of a plan means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.batches import Batch
from benchmarks.requests import FetchFrame, fetch_frame, produce_frame

NO_LANE: Final = -1
IN_FLIGHT: Final = 5  # as the Java producer's max.in.flight.requests.per.connection


class Plan:
    """Connections are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self.frames = bytearray()
        self.lines: list[str] = []

    def producer(
        self,
        topic: str,
        partitions: Sequence[int],
        batch: Batch,
        *,
        group: int = 0,
        lane: int = NO_LANE,
        in_flight: int = IN_FLIGHT,
        interval_ns: int = 0,
        delay_ns: int = 0,
    ) -> None:
        """Send `batch` to the partitions in turn: as fast as answers come, or one each `interval_ns`.

        With one in flight and an interval the producer is synchronous: it pauses after each answer.
        """
        frames = [produce_frame(topic, partition, batch.data) for partition in partitions]
        length = len(frames[0].data)
        assert all(len(frame.data) == length for frame in frames)
        at = self._add(b"".join(frame.data for frame in frames))
        self.lines.append(
            f"producer {group} {lane} {at} {length} {len(frames)} {frames[0].error_at} {batch.records} "
            f"{len(batch.data)} {in_flight} {interval_ns} {delay_ns}"
        )

    def consumer(
        self, topic: str, partition: int, *, group: int = 0, lane: int = NO_LANE, start: int = 0, end: int = 0
    ) -> None:
        """Read from `start`: again and again up to `end`, or at the tail when there is no end."""
        frame: FetchFrame = fetch_frame(topic, partition)
        at = self._add(frame.data)
        self.lines.append(
            f"consumer {group} {lane} {at} {len(frame.data)} {frame.offset_at} {frame.error_at} "
            f"{frame.records_at} {start} {end}"
        )

    def _add(self, data: bytes) -> int:
        at = len(self.frames)
        self.frames += data
        return at
