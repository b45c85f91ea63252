"""The real backend: `penstock.client` in threads, so that the event loop never waits for a broker.

Made once by `app`. Two small pools bound what runs at a time: one for calls, one for tails, which hold a
thread while they wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.client.acls import Acl, Acls
from penstock.client.admin import Admin, Partition, apply_offsets, partitions_of
from penstock.client.configs import Alteration, Configs, Owner
from penstock.client.errors import PartitionNotFound
from penstock.client.messages import Messages
from penstock.client.metadata import ConfigEntry, TopicDetail
from penstock.client.paging import Message, Page, interleaved
from penstock.client.schema_registry import SchemaRegistry
from penstock.client.sending import NewRecord, Produced
from penstock.client.stream import Stream
from penstock.client.targets import Target
from penstock.client.users import User, Users
from penstock.console.backend import MessageQuery, Snapshot, Tail, TailBatch
from penstock.console.client_groups import GroupOperations
from penstock.console.client_operations import Operations
from penstock.console.client_search import ClientSearch
from penstock.console.cluster_values import (
    Disks,
    GroupsNow,
    HangingTransaction,
    Move,
    Quorum,
    TopicProducer,
    TransactionState,
    WrittenIn,
)
from penstock.console.decoding_records import Decoded, RecordDecoder
from penstock.console.filters import compile_any
from penstock.console.searching import Scan, Search, SearchQuery
from penstock.web.threads import Threads

CALLS_MAX = 8
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SCRAM_ITERATIONS = 8192
WATCHES_MAX = 4
"""Regular looks at groups, disks and the quorum, beside those at the topics."""
TAILS_MAX = 16
TAIL_POLL_S = 0.25
TAIL_RECORDS = 200
"""Records of one poll of a tail, and how far it may fall behind before it skips: people read no faster."""

WATCH_TIMEOUT_S = 3.0
"""Deadline of the regular look at the cluster: how long a page may go without saying that the broker is away.
"""

STARTS_REFRESH_S = 15.0
"""Log start offsets move only with retention, so they are asked for less often than ends."""


class ClientBackend:
    def __init__(
        self,
        bootstrap_servers: str,
        *,
        timeout_s: float = 5.0,
        settings: Mapping[str, Any] | None = None,
        registry: SchemaRegistry | None = None,
    ) -> None:
        """With `registry`, records that were written with a schema are decoded."""
        self.bootstrap_servers = bootstrap_servers
        self._admin = Admin(bootstrap_servers, timeout_s=timeout_s, settings=settings)
        self._watch = Admin(bootstrap_servers, timeout_s=min(timeout_s, WATCH_TIMEOUT_S), settings=settings)
        self._messages = Messages(
            bootstrap_servers, timeout_s=timeout_s, settings=settings, admin=self._admin
        )
        self._calls = Threads(CALLS_MAX, "console-call")
        self._tails = Threads(2 * TAILS_MAX, "console-tail")  # closing one may wait beside its last poll
        self._watches = Threads(WATCHES_MAX, "console-watch")
        self._starts = StartOffsets(self._watch)
        self._operations = Operations(self._admin, settings)
        self._groups = GroupOperations(self._admin)
        self._decoder = RecordDecoder(registry)

    async def snapshot(self) -> Snapshot:
        return await self._calls.call(self._snapshot)

    async def topic(self, name: str) -> TopicDetail:
        return await self._calls.call(self._admin.topic_detail, name)

    async def messages(self, query: MessageQuery) -> Page:
        def read() -> Page:
            return self._messages.page(query.topic, query.start, partition=query.partition, limit=query.limit)

        return await self._calls.call(read)

    async def tail(self, topic: str) -> Tail:
        def start() -> Stream:
            return self._messages.tail(topic, queued_messages=TAIL_RECORDS, skip_when_behind=TAIL_RECORDS)

        return ClientTail(await self._calls.call(start), self._tails)

    async def search(self, query: SearchQuery) -> Search:
        return await self._calls.call(self._search, query)

    async def decoded(self, message: Message, of_key: bool) -> Decoded | None:
        return await self._calls.call(self._decoder.decoded, message, of_key)

    def decoded_known(self, message: Message, of_key: bool) -> Decoded | None:
        return self._decoder.decoded_known(message, of_key)

    async def learn(self, messages: Sequence[Message]) -> None:
        await self._calls.call(self._decoder.learn, messages)

    async def encoded(self, subject: str, text: str) -> bytes:
        return await self._calls.call(self._decoder.encoded, subject, text)

    async def written_in(self, topic: str, partition: int, offset: int) -> WrittenIn | None:
        return await self._calls.call(self._operations.written_in, topic, partition, offset)

    async def producers(self, topic: str) -> list[TopicProducer]:
        return await self._calls.call(self._operations.producers, topic)

    async def acls(self) -> list[Acl]:
        return await self._calls.call(Acls(self._admin).describe, Acl())

    async def create_acl(self, entry: Acl) -> None:
        await self._calls.call(Acls(self._admin).create, [entry])

    async def delete_acl(self, entry: Acl) -> None:
        await self._calls.call(Acls(self._admin).delete, entry)

    async def users(self) -> list[User]:
        return await self._calls.call(Users(self._admin).listed)

    async def set_password(self, name: str, password: str) -> None:
        await self._calls.call(Users(self._admin).set_password, name, password, SCRAM, SCRAM_ITERATIONS)

    async def delete_user(self, name: str) -> None:
        await self._calls.call(Users(self._admin).delete, name)

    async def produce(self, topic: str, record: NewRecord) -> Produced:
        return await self._calls.call(self._messages.produce, topic, record)

    async def create_topic(
        self, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str]
    ) -> None:
        await self._calls.call(self._admin.create_topic, name, partitions, replication_factor, configs)

    async def delete_topic(self, name: str) -> None:
        await self._calls.call(self._admin.delete_topic, name)

    async def add_partitions(self, name: str, total: int) -> None:
        await self._calls.call(self._admin.add_partitions, name, total)

    async def empty_topic(self, name: str) -> int:
        return await self._calls.call(self._operations.empty_topic, name)

    async def configs(self, owner: Owner) -> list[ConfigEntry]:
        return await self._calls.call(Configs(self._admin).describe, owner)

    async def alter_configs(self, owner: Owner, changes: Mapping[str, str | None]) -> None:
        wanted = [
            Alteration(name, value, "DELETE" if value is None else "SET") for name, value in changes.items()
        ]
        await self._calls.call(Configs(self._admin).alter, owner, wanted)

    async def disks(self) -> Disks:
        return await self._watches.call(self._operations.disks)

    async def quorum(self) -> Quorum:
        return await self._watches.call(self._operations.quorum)

    async def groups(self) -> GroupsNow:
        return await self._watches.call(self._groups.now)

    async def reset_plan(self, group_id: str, topics: tuple[str, ...], target: Target) -> list[Move]:
        return await self._calls.call(self._groups.reset_plan, group_id, topics, target)

    async def reset_group(self, group_id: str, moves: list[Move]) -> None:
        await self._calls.call(self._groups.reset, group_id, moves)

    async def delete_group(self, group_id: str) -> None:
        await self._calls.call(self._groups.delete, group_id)

    async def transactions(self) -> list[TransactionState]:
        return await self._calls.call(self._operations.transactions)

    async def hanging_transactions(self, older_than_ms: int) -> list[HangingTransaction]:
        return await self._calls.call(self._operations.hanging_transactions, older_than_ms)

    async def abort_transaction(self, transaction: HangingTransaction) -> None:
        await self._calls.call(self._operations.abort_transaction, transaction)

    async def close(self) -> None:
        """Nothing to give back: calls that still wait end by their own deadlines, or with the process."""

    def _search(self, query: SearchQuery) -> ClientSearch:
        test = compile_any(query.filter_text)
        topic = self._admin.topic(query.topic)
        ends = {p.index: p.high_watermark or 0 for p in topic.partitions}
        if query.partition is not None and query.partition not in ends:
            raise PartitionNotFound(query.topic, query.partition, len(ends))
        wanted = {p: end for p, end in ends.items() if query.partition in (None, p)}
        stream = self._messages.stream(query.topic, query.start, partition=query.partition, complete=True)
        scan = Scan(test, self._decoder.parsed, wanted, {p: stream.position(p) for p in wanted})
        return ClientSearch(stream, scan, self._tails)

    def _snapshot(self) -> Snapshot:
        cluster, topics = self._watch.describe()
        ends = self._watch.end_offsets(partitions_of(topics))
        starts = self._starts.for_ends(ends)
        return Snapshot(cluster, tuple(apply_offsets(topics, starts, ends)))


class StartOffsets:
    """Remembers log start offsets for a while; a new partition, or one that was emptied, is asked for at
    once.
    """

    def __init__(self, admin: Admin, clock: Callable[[], float] = time.monotonic) -> None:
        self._admin = admin
        self._clock = clock
        self._known: dict[Partition, int] = {}
        self._asked_at = float("-inf")

    def for_ends(self, ends: Mapping[Partition, int]) -> dict[Partition, int]:
        if self._clock() - self._asked_at > STARTS_REFRESH_S:
            self._asked_at = self._clock()
            self._known = self._admin.start_offsets(ends)
            return dict(self._known)
        doubtful = [p for p, end in ends.items() if p not in self._known or end < self._known[p]]
        self._known |= self._admin.start_offsets(doubtful)
        return {p: self._known[p] for p in ends if p in self._known}


class ClientTail:
    """A stream polled from threads, one at a time: closing waits for the poll that is still running."""

    def __init__(self, stream: Stream, threads: Threads) -> None:
        self._stream = stream
        self._threads = threads
        self._skipped_before = 0
        self._one_at_a_time = threading.Lock()

    async def poll(self) -> TailBatch:
        return await self._threads.call(self._poll)

    async def close(self) -> None:
        await self._threads.call(self._close)

    def _poll(self) -> TailBatch:
        with self._one_at_a_time:
            messages = self._stream.poll(TAIL_POLL_S, TAIL_RECORDS)
            skipped = self._stream.skipped - self._skipped_before
            self._skipped_before = self._stream.skipped
            return TailBatch(tuple(interleaved(messages)), skipped)

    def _close(self) -> None:
        with self._one_at_a_time:
            self._stream.close()
