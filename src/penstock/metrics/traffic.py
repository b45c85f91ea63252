"""Records in and out, by topic: Kafka's BrokerTopicMetrics.

Totals over all topics are sums, made when they are read. What a deleted topic had counted stays in them.
"""

from __future__ import annotations

from collections.abc import Container
from threading import Lock
from typing import Final

COUNTS: Final = (
    "bytes_in",
    "bytes_out",
    "messages_in",
    "replication_bytes_in",
    "replication_bytes_out",
    "bytes_rejected",
    "produce_requests",
    "fetch_requests",
    "failed_produce_requests",
    "failed_fetch_requests",
)


class TopicTraffic:
    """One topic on this broker. Threads add to it without a lock (see `metrics.counter`)."""

    __slots__ = COUNTS

    bytes_in: int
    bytes_out: int
    messages_in: int
    replication_bytes_in: int
    replication_bytes_out: int
    bytes_rejected: int
    produce_requests: int
    fetch_requests: int
    failed_produce_requests: int
    failed_fetch_requests: int

    def __init__(self) -> None:
        for name in COUNTS:
            setattr(self, name, 0)

    def fetched(self, size_bytes: int, *, by_follower: bool) -> None:
        self.fetch_requests += 1
        if by_follower:
            self.replication_bytes_out += size_bytes
        else:
            self.bytes_out += size_bytes

    def produce_failed(self, size_bytes: int) -> None:
        self.produce_requests += 1
        self.failed_produce_requests += 1
        self.bytes_rejected += size_bytes

    def fetch_failed(self) -> None:
        self.fetch_requests += 1
        self.failed_fetch_requests += 1


class _Topics(dict[str, TopicTraffic]):
    def __missing__(self, topic: str) -> TopicTraffic:
        return self.setdefault(topic, TopicTraffic())


class Traffic:
    """All topics whose records this broker has taken or given."""

    def __init__(self) -> None:
        self._topics = _Topics()
        self.of = self._topics.__getitem__
        """A topic's counts; found, or made, without a call of Python."""
        self._gone = TopicTraffic()
        self._lock = Lock()  # for `forget_others`; adding takes none

    def known(self, topic: str) -> TopicTraffic:
        """For requests that fail: the name may be anything, and must not stay in memory."""
        return self._topics.get(topic, self._gone)

    def items(self) -> list[tuple[str, TopicTraffic]]:
        return sorted(self._topics.items())

    def forget_others(self, existing: Container[str]) -> None:
        """Topics that are no more; a request that is still about one may begin its counts anew."""
        with self._lock:
            for topic in [name for name in list(self._topics) if name not in existing]:
                gone = self._topics.pop(topic)
                for name in COUNTS:
                    setattr(self._gone, name, getattr(self._gone, name) + getattr(gone, name))

    def total(self, name: str) -> int:
        with self._lock:
            everything = (*list(self._topics.values()), self._gone)
            return sum(int(getattr(each, name)) for each in everything)
