"""Leaders ask the controller for another ISR: AlterPartition (KIP-497), many partitions in one request, one
request at a time.

`IsrChanges` collects and answers without waiting; `IsrThread` waits, and looks now and then for followers
that lag.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import groupby
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple, Protocol

from penstock.coordinator.promise import Promise
from penstock.metrics.broker import IsrCounts
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_request, read_response
from penstock.replication.leading import WantedIsr
from penstock.replication.partition import Partition
from penstock.replication.partitions import Partitions
from penstock.wire.deadline import Deadline

VERSION: Final = 3
MOST_AT_ONCE: Final = 500
"""Partitions of one request. The controller decides a request in one go, and its quorum waits meanwhile:
thousands at once, on a machine that is short of time, cost it its leadership, again with every attempt."""
ANSWER_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 0.1

_log = logging.getLogger(__name__)

_NOT_ATTEMPTED: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
"""Nothing has happened: the leader goes back to what it had."""
_OVERTAKEN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""The metadata has changed meanwhile, and will say how."""


class Channel(Protocol):
    """To the active controller, wherever it is."""

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]: ...


class _Asked(NamedTuple):
    partition: Partition
    wanted: WantedIsr
    in_sync: int = 0
    """How many replicas were in sync when it was asked for."""


Asked = dict[tuple[bytes, int], _Asked]  # by topic id and partition


class IsrChanges:
    """What is wanted and not yet asked for. Threads may call it."""

    def __init__(
        self, node_id: int, broker_epoch: Callable[[], int], counts: IsrCounts | None = None
    ) -> None:
        self._node_id = node_id
        self._counts = counts or IsrCounts()
        self._broker_epoch = broker_epoch
        self._lock = Lock()
        self._wanted: set[Partition] = set()
        self.on_wanted: Callable[[], None] = lambda: None

    def wanted(self, partition: Partition) -> None:
        """The partition's leader wants another ISR; called without its lock."""
        with self._lock:
            self._wanted.add(partition)
        self.on_wanted()

    def take(self) -> Asked:
        """What is wanted now, to be asked for; the rest of it is for the next request."""
        with self._lock:
            partitions = sorted(self._wanted, key=lambda each: (each.topic_id, each.index))[:MOST_AT_ONCE]
            self._wanted.difference_update(partitions)
        asked = {}
        for partition in partitions:
            wanted = partition.wanted_isr()
            leading = partition.leadership
            if wanted is not None and leading is not None:
                asked[partition.topic_id, partition.index] = _Asked(partition, wanted, len(leading.isr))
        return asked

    def request(self, asked: Asked) -> dict[str, Any]:
        topics = [
            {"topic_id": topic_id, "partitions": [_wanted(index, asked[topic_id, index].wanted)
                                                  for _, index in places]}
            for topic_id, places in groupby(asked, key=lambda place: place[0])
        ]  # fmt: skip
        return {"broker_id": self._node_id, "broker_epoch": self._broker_epoch(), "topics": topics}

    def answered(self, asked: Asked, answer: Any) -> bool:
        """Tell the partitions; whether some of it has to be asked again after a pause."""
        if answer.error_code:
            _log.info("the controller refuses to change ISRs: %s", ErrorCode(answer.error_code).name)
            return self.failed(asked.values())
        again = []
        for topic in answer.topics:
            for part in topic.partitions:
                one = asked.get((_bytes(topic.topic_id), part.partition_index))
                if one is not None and not _settle(one, part, self._counts):
                    again.append(one)
        return self.failed(again)

    def failed(self, asked: Iterable[_Asked]) -> bool:
        """No answer, or none that counts: it is not known whether it happened, and it is asked again."""
        asked = list(asked)
        with self._lock:
            self._wanted.update(one.partition for one in asked)
        return bool(asked)


def _wanted(index: int, wanted: WantedIsr) -> dict[str, Any]:
    return {
        "partition_index": index,
        "leader_epoch": wanted.leader_epoch,
        "new_isr_with_epochs": [{"broker_id": node, "broker_epoch": epoch} for node, epoch in wanted.isr],
        "leader_recovery_state": 0,
        "partition_epoch": wanted.partition_epoch,
    }


def _settle(one: _Asked, part: Any, counts: IsrCounts) -> bool:
    """Whether the question is settled."""
    code = ErrorCode(part.error_code)
    partition, wanted, in_sync = one
    if code is ErrorCode.NONE:
        counts.changed(in_sync, len(part.isr))
        partition.isr_changed(part.leader_epoch, part.isr, part.partition_epoch)
        _log.info("%s is in sync at %s", partition, list(part.isr))
        return True
    counts.failed_updates.add()
    _log.info("the ISR of %s does not become %s: %s", partition, sorted(wanted.members), code.name)
    if code in _NOT_ATTEMPTED:
        partition.isr_refused(wanted)
        return True
    return code in _OVERTAKEN


def _bytes(topic_id: Any) -> bytes:
    return topic_id.bytes if topic_id is not None else bytes(16)


class IsrThread:
    """Asks when something is wanted, and looks for followers that lag."""

    def __init__(
        self,
        changes: IsrChanges,
        partitions: Partitions,
        channel: Channel,
        lag_seconds: Callable[[], float],
    ) -> None:
        self._changes = changes
        self._partitions = partitions
        self._channel = channel
        self._lag_seconds = lag_seconds
        self._news = Event()  # something is wanted, or answered
        self._stopped = Event()
        changes.on_wanted = self.wake
        self._threads = [
            Thread(target=self._run, name="isr-changes", daemon=True),
            Thread(target=self._look, name="isr-watch", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stopped.set()
        self.wake()
        for thread in self._threads:
            thread.join()

    def wake(self) -> None:
        self._news.set()

    def _look(self) -> None:
        """A follower is late at the earliest after the lag, and seen to be so half of it later at the
        latest."""
        while not self._stopped.wait(self._lag_seconds() / 2):
            for partition in self._partitions:
                partition.shrink_isr()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._news.wait()
            self._news.clear()
            asked = self._changes.take()
            if asked and self._ask(asked):
                self._stopped.wait(RETRY_SECONDS)
            if asked:
                self.wake()  # what came meanwhile, and what is asked again

    def _ask(self, asked: Asked) -> bool:
        """Whether something is left to be asked again."""
        body = encode_request(Api.ALTER_PARTITION, VERSION, self._changes.request(asked))
        promise = self._channel.ask(Api.ALTER_PARTITION, VERSION, body)
        promise.watch(self)
        deadline = Deadline(ANSWER_SECONDS)
        while not promise.done and not deadline.passed and not self._stopped.is_set():
            self._news.wait(deadline.remaining())
            self._news.clear()
        try:
            if not promise.done:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the controller did not answer")
            answer = read_response(Api.ALTER_PARTITION, VERSION, promise.result())
            return self._changes.answered(asked, answer)
        except KafkaError as error:
            _log.info("ISRs cannot be changed now, it is tried again: %s", error)
            return self._changes.failed(asked.values())
