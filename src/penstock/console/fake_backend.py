"""The fake backend: a small cluster in memory, for tests of the pages and the API without a broker.

It refuses what the real one refuses, with the same exceptions, and counts its questions in `asked`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from penstock.client.acls import Acl
from penstock.client.admin import check_topic_name
from penstock.client.errors import BrokerUnreachable, PartitionNotFound, TopicExists, TopicNotFound
from penstock.client.metadata import (
    BrokerInfo,
    ClusterInfo,
    ConfigEntry,
    TopicDetail,
)
from penstock.client.paging import (
    After,
    Found,
    FromTimestamp,
    Message,
    Page,
    Span,
    first_windows,
    is_backward,
    merge,
    next_start,
)
from penstock.client.sending import NewRecord, Produced
from penstock.client.users import User
from penstock.console.backend import MessageQuery, Snapshot, Tail, TailBatch
from penstock.console.cluster_values import TopicProducer, WrittenIn
from penstock.console.decoding_records import Decoded, RecordDecoder
from penstock.console.fake_operations import FakeOperations, FakeTopic
from penstock.console.filters import compile_any
from penstock.console.searching import Progress, Scan, Search, SearchQuery

TAIL_WAIT_S = 0.01


class FakeBackend(FakeOperations):
    def __init__(self, bootstrap_servers: str = "127.0.0.1:9092") -> None:
        self.bootstrap_servers = bootstrap_servers
        self.unreachable = False
        self.entries: list[Acl] = []
        self.passwords: dict[str, str] = {}
        self.asked: Counter[str] = Counter()
        self.now_ms = 1_700_000_000_000
        self.open_tails = 0
        self._topics: dict[str, FakeTopic] = {}
        self._decoder = RecordDecoder(None)
        super().__init__()

    # -- what tests arrange

    def add_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        self._topics[name] = FakeTopic(name, [[] for _ in range(partitions)], dict(configs or {}))

    def append(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int = 0,
    ) -> Message:
        log = self._topics[topic].logs[partition]
        message = Message(topic, partition, len(log), self.now_ms, "CreateTime", key, value, tuple(headers))
        self.now_ms += 1
        log.append(message)
        return message

    # -- what the console asks

    async def snapshot(self) -> Snapshot:
        self._asking("snapshot")
        topics = tuple(topic.info() for _, topic in sorted(self._topics.items()))
        partitions = sum(len(topic.partitions) for topic in topics)
        host, _, port = self.bootstrap_servers.partition(":")
        cluster = ClusterInfo("fake", 1, (BrokerInfo(1, host, int(port)),), len(topics), partitions)
        return Snapshot(cluster, topics)

    async def topic(self, name: str) -> TopicDetail:
        self._asking("topic")
        topic = self._find(name)
        defaults = {"cleanup.policy": "delete", "retention.ms": "604800000"}
        entries = [
            ConfigEntry(key, value, key not in topic.configs, False, "DEFAULT_CONFIG")
            for key, value in (defaults | topic.configs).items()
        ]
        return TopicDetail(topic.info(), tuple(entries))

    async def messages(self, query: MessageQuery) -> Page:
        self._asking("messages")
        topic = self._find(query.topic)
        self._check_partition(topic, query.partition)
        chosen = [p for p in range(len(topic.logs)) if query.partition in (None, p)]
        spans = {p: Span(0, len(topic.logs[p])) for p in chosen}
        start = query.start
        if isinstance(start, FromTimestamp):
            start = After({p: _first_at(topic.logs[p], start.timestamp_ms) for p in chosen})
        backward = is_backward(start)
        found = {
            p: Found(window, topic.logs[p][window.start : window.end])
            for p, window in first_windows(start, spans, query.limit).items()
        }
        shown = merge(found, query.limit, backward=backward)
        return Page(tuple(shown), backward, next_start(found, shown, spans, backward=backward))

    async def tail(self, topic: str) -> Tail:
        self._asking("tail")
        return FakeTail(self, self._find(topic))

    async def search(self, query: SearchQuery) -> Search:
        self._asking("search")
        topic = self._find(query.topic)
        self._check_partition(topic, query.partition)
        ends = {p: len(log) for p, log in enumerate(topic.logs) if query.partition in (None, p)}
        scan = Scan(compile_any(query.filter_text), self._decoder.parsed, ends, dict.fromkeys(ends, 0))
        return FakeSearch(topic, scan)

    async def decoded(self, message: Message, of_key: bool) -> Decoded | None:
        return self._decoder.decoded(message, of_key)

    def decoded_known(self, message: Message, of_key: bool) -> Decoded | None:
        return self._decoder.decoded_known(message, of_key)

    async def learn(self, messages: Sequence[Message]) -> None:
        self._decoder.learn(messages)

    async def encoded(self, subject: str, text: str) -> bytes:
        self._asking("encoded")
        return f"{subject}:{text}".encode()

    async def written_in(self, topic: str, partition: int, offset: int) -> WrittenIn | None:
        self._asking("written_in")
        if offset >= len(self._find(topic).logs[partition]):
            return None
        return WrittenIn(offset, 1, 70, "none", 0, 7, 0, True, "checkout-1")

    async def producers(self, topic: str) -> list[TopicProducer]:
        self._asking("producers")
        self._find(topic)
        return [TopicProducer(0, 7, 0, self.now_ms, False, "checkout-1")]

    async def acls(self) -> list[Acl]:
        self._asking("acls")
        return sorted(self.entries)

    async def create_acl(self, entry: Acl) -> None:
        self.entries.append(entry)

    async def delete_acl(self, entry: Acl) -> None:
        self.entries.remove(entry)

    async def users(self) -> list[User]:
        self._asking("users")
        return [User(name, {"SCRAM-SHA-512": 8192}) for name in sorted(self.passwords)]

    async def set_password(self, name: str, password: str) -> None:
        self.passwords[name] = password

    async def delete_user(self, name: str) -> None:
        del self.passwords[name]

    async def produce(self, topic: str, record: NewRecord) -> Produced:
        self._asking("produce")
        self._check_partition(self._find(topic), record.partition)
        message = self.append(topic, record.value, record.key, record.headers, record.partition or 0)
        return Produced(topic, message.partition, message.offset, message.timestamp_ms)

    async def create_topic(
        self, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str]
    ) -> None:
        self._asking("create_topic")
        check_topic_name(name)
        if name in self._topics:
            raise TopicExists(name)
        self.add_topic(name, partitions or 1, configs)

    async def delete_topic(self, name: str) -> None:
        self._asking("delete_topic")
        self._find(name)
        del self._topics[name]

    async def close(self) -> None:
        self.asked["close"] += 1

    def _asking(self, what: str) -> None:
        self.asked[what] += 1
        if self.unreachable:
            raise BrokerUnreachable(self.bootstrap_servers, 5.0, "Connection refused")

    def _find(self, name: str) -> FakeTopic:
        if name not in self._topics:
            raise TopicNotFound(name)
        return self._topics[name]

    @staticmethod
    def _check_partition(topic: FakeTopic, partition: int | None) -> None:
        if partition is not None and not 0 <= partition < len(topic.logs):
            raise PartitionNotFound(topic.name, partition, len(topic.logs))


class FakeSearch:
    """One record a poll, so that a test sees it go on."""

    def __init__(self, topic: FakeTopic, scan: Scan) -> None:
        self._waiting = [message for log in topic.logs for message in log]
        self._scan, self._total = scan, scan.total
        self.closed = False

    async def poll(self) -> Progress:
        await asyncio.sleep(TAIL_WAIT_S)
        hits = self._scan.take(self._waiting[:1])
        del self._waiting[:1]
        return Progress(tuple(hits), self._scan.scanned, self._total, self._scan.done)

    async def close(self) -> None:
        self.closed = True


class FakeTail:
    def __init__(self, backend: FakeBackend, topic: FakeTopic) -> None:
        self._backend = backend
        self._topic = topic
        self._positions = [len(log) for log in topic.logs]
        backend.open_tails += 1

    async def poll(self) -> TailBatch:
        await asyncio.sleep(TAIL_WAIT_S)
        new = [
            message for log, at in zip(self._topic.logs, self._positions, strict=True) for message in log[at:]
        ]
        self._positions = [len(log) for log in self._topic.logs]
        return TailBatch(tuple(sorted(new, key=lambda message: message.timestamp_ms or 0)), 0)

    async def close(self) -> None:
        self._backend.open_tails -= 1


def _first_at(log: list[Message], timestamp_ms: int) -> int:
    return next((m.offset for m in log if (m.timestamp_ms or 0) >= timestamp_ms), len(log))
