"""What one fetcher of a follower asks its leader for, and what it does with the answers. Pure but for the
logs: no socket and no thread; `server.cluster.replica_fetchers` has those, and the simulator drives it
with its own network."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Lock
from typing import Final

from penstock.clock import Clock
from penstock.metrics.traffic import Traffic
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.following import EpochEnd, Position
from penstock.replication.partition import Partition
from penstock.storage.errors import NoSpace, StorageError
from penstock.wire.replica_fetch import LeaderAnswer, Place

FIRST_PAUSE_SECONDS: Final = 0.02
HELD_BACK_SECONDS: Final = 0.1
MOST_NAMED: Final = 5
"""How many partitions a line of the log names."""
PASSES_WITHIN: Final = 7
"""Failures in a row, which take a second or two: so long the metadata of two brokers may differ after an
election or a shutdown."""
_PASSING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)
_Failures = dict[str, list[Partition]]

_log = logging.getLogger(__name__)


class _Followed:
    """One partition of a fetcher."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.failures = 0
        self.due = 0.0  # not before this time, by the monotonic clock
        self.asked: Position | None = None


class Fetcher:
    """The partitions that follow one leader by one connection. Threads may add and remove; one asks and
    takes."""

    def __init__(self, clock: Clock, longest_pause_seconds: float, traffic: Traffic | None = None) -> None:
        self._clock = clock
        self._longest_pause = longest_pause_seconds
        self._traffic = traffic or Traffic()
        self._lock = Lock()
        self._followed: dict[Place, _Followed] = {}
        self.passed_over = False
        """Whether an answer came too late to be taken. The leader believes that its high watermark is known
        here, and would not send it again: the next fetch needs a new session."""
        self.has_new = False
        """Whether a partition was added since it was last asked for anything."""

    def add(self, partition: Partition) -> None:
        with self._lock:
            self._followed[partition.topic_id, partition.index] = _Followed(partition)
            self.has_new = True

    def remove(self, partition: Partition) -> None:
        with self._lock:
            self._followed.pop((partition.topic_id, partition.index), None)

    def ask(self) -> dict[Place, Position]:
        """All partitions whose time has come, with the ends of their logs."""
        now = self._clock.monotonic()
        self.has_new = False
        wanted: dict[Place, Position] = {}
        for place, followed in self._all().items():
            if followed.due <= now and followed.partition.is_held_back:
                followed.due = now + HELD_BACK_SECONDS
            if followed.due > now:
                followed.asked = None
            elif followed.asked is None or not followed.partition.is_at(followed.asked):
                followed.asked = followed.partition.position()
            if followed.asked is not None:
                wanted[place] = followed.asked
        return wanted

    def pause_seconds(self) -> float | None:
        """How long until a partition is due; None when there is none."""
        dues = [
            followed.due for followed in self._all().values() if followed.partition.position() is not None
        ]
        return max(0.0, min(dues) - self._clock.monotonic()) if dues else None

    def _all(self) -> Mapping[Place, _Followed]:
        with self._lock:
            return dict(self._followed)

    def take(self, answers: list[LeaderAnswer]) -> list[Partition]:
        """Append and cut as the leader says; gives the partitions that are out of its range."""
        outside = []
        self.passed_over = False
        failed: _Failures = {}
        for answer in answers:
            followed = self._followed.get(answer.place)
            if followed is None or followed.asked is None or not followed.partition.is_at(followed.asked):
                self.passed_over = True
                continue
            try:
                if answer.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                    outside.append(followed.partition)
                else:
                    self._take(followed, followed.asked, answer)
            except KafkaError as error:
                self._failed(followed, f"{error.code.name}: {error.message}", failed, error.code in _PASSING)
            except NoSpace as error:
                self._failed(followed, str(error), failed)
            except (OSError, StorageError) as error:
                _log.error("%s is not followed any more: %s", followed.partition, error)
                self.remove(followed.partition)
        tell_failures(failed)
        return outside

    def _take(self, followed: _Followed, position: Position, answer: LeaderAnswer) -> None:
        partition = followed.partition
        if answer.error is not ErrorCode.NONE:
            raise KafkaError(answer.error, "the leader's answer")
        if answer.diverging is not None:
            end = partition.log.log_end_offset
            partition.truncate_to_leader(position, EpochEnd(*answer.diverging))
            cut_to = partition.log.log_end_offset
            _log.info("%s is cut from %d to %d: its leader has %s", partition, end, cut_to, answer.diverging)
        else:
            start_offset = answer.log_start_offset
            written = partition.take(position, answer.records, answer.high_watermark, start_offset)
            if written:
                self._traffic.of(partition.topic).replication_bytes_in += written
        followed.failures = 0

    def move_into_range(self, partition: Partition, leader_start: int, leader_end: int) -> None:
        """The leader's log has these ends, and nothing where the follower's ends."""
        followed = self._followed.get((partition.topic_id, partition.index))
        if followed is None or followed.asked is None:
            return
        try:
            if partition.move_into_range(followed.asked, leader_start, leader_end):
                end = partition.log.log_end_offset
                _log.info(
                    "%s goes on at %d: its leader has %d to %d", partition, end, leader_start, leader_end
                )
            else:
                failed: _Failures = {}
                self._failed(followed, f"out of the leader's range of {leader_start} to {leader_end}", failed)
                tell_failures(failed)
        except (OSError, StorageError) as error:
            _log.error("%s is not followed any more: %s", partition, error)
            self.remove(partition)

    def _failed(self, followed: _Followed, reason: str, failed: _Failures, is_passing: bool = False) -> None:
        """Fetch it again a little later. The first failure is noted, of a passing kind the first that does
        not pass."""
        pause = min(self._longest_pause, FIRST_PAUSE_SECONDS * 2 ** min(followed.failures, 10))
        followed.failures += 1
        followed.due = self._clock.monotonic() + pause
        if followed.failures == (PASSES_WITHIN if is_passing else 1):
            failed.setdefault(reason, []).append(followed.partition)


def tell_failures(failed: _Failures) -> None:
    """One line for each reason, however many partitions have it."""
    for reason, partitions in failed.items():
        named = ", ".join(map(str, partitions[:MOST_NAMED]))
        more = f" and {len(partitions) - MOST_NAMED} more" if len(partitions) > MOST_NAMED else ""
        _log.info("fetching of %s%s fails, and is tried again: %s", named, more, reason)
