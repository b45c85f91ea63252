"""The client for asyncio: the same producer and consumer, awaited.

The consumer runs in one thread of its own, so the event loop never waits for it. Cancellation loses
nothing: a poll that was cancelled keeps what it has read for the next one. A send that was cancelled may
have happened; the record is never sent twice for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

from penstock.client.api.commits import CommitCallback
from penstock.client.api.consumer import Consumer
from penstock.client.api.exceptions import ProducerFencedException
from penstock.client.api.futures import RecordFuture, WouldBlock
from penstock.client.api.metadata import PartitionInfo
from penstock.client.api.producer import Producer
from penstock.client.api.rebalancing import RebalanceListener
from penstock.client.api.records import (
    ConsumerRecord,
    ConsumerRecords,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    RecordMetadata,
)
from penstock.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

P = ParamSpec("P")
T = TypeVar("T")
_ITERATION_SECONDS: Final = 1.0


class AsyncProducer:
    """`future = await producer.send(…)` queues a record, `metadata = await future` waits for its answer."""

    def __init__(self, settings: Mapping[str, Any], **serializers: Any) -> None:
        self._producer = Producer(settings, **serializers)

    async def send(self, topic: str, value: Any = None, key: Any = None, **more: Any) -> RecordFuture:
        """As `Producer.send`. The event loop goes on while the record waits for metadata or for room."""
        try:
            return self._producer.send_nowait(topic, value, key, **more)
        except WouldBlock as wait:
            return await asyncio.to_thread(wait.go_on)

    async def send_and_wait(
        self, topic: str, value: Any = None, key: Any = None, **more: Any
    ) -> RecordMetadata:
        return await (await self.send(topic, value, key, **more))

    async def flush(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self._producer.flush, timeout)

    async def init_transactions(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self._producer.init_transactions, timeout)

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_metadata: Any
    ) -> None:
        await asyncio.to_thread(self._producer.send_offsets_to_transaction, offsets, group_metadata)

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        return await asyncio.to_thread(self._producer.partitions_for, topic)

    async def send_arrow(self, topic: str, batch: pa.RecordBatch) -> None:
        await asyncio.shield(asyncio.to_thread(self._producer.send_arrow, topic, batch))

    async def begin_transaction(self) -> None:
        self._producer.begin_transaction()

    async def commit_transaction(self, timeout: float | None = None) -> None:
        """One that was cancelled is still made."""
        await asyncio.shield(asyncio.to_thread(self._producer.commit_transaction, timeout))

    async def abort_transaction(self, timeout: float | None = None) -> None:
        await asyncio.shield(asyncio.to_thread(self._producer.abort_transaction, timeout))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """Commits at the end. Aborts if something was raised, a cancellation included."""
        self._producer.begin_transaction()
        try:
            yield self
            await asyncio.shield(asyncio.to_thread(self._producer.commit_transaction))
        except ProducerFencedException:
            raise
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self._producer.abort_transaction))
            raise

    def metrics(self) -> dict[str, float]:
        return self._producer.metrics()

    async def close(self, timeout: float | None = None) -> None:
        await asyncio.shield(asyncio.to_thread(self._producer.close, timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncConsumer:
    """One task at a time uses it. A listener's methods are called by the consumer's thread, inside a poll."""

    def __init__(self, settings: Mapping[str, Any], **deserializers: Any) -> None:
        self._consumer = Consumer(settings, **deserializers)
        self._thread = ThreadPoolExecutor(1, "penstock-consumer")
        self._polling: asyncio.Future[ConsumerRecords] | None = None
        self._ended = Event()  # set when that poll was cancelled
        self._arrow: asyncio.Future[pa.RecordBatch] | None = None
        self._arrow_cancelled = False

    async def subscribe(
        self, topics: Collection[str] | re.Pattern[str], listener: RebalanceListener | None = None
    ) -> None:
        await self._run(self._consumer.subscribe, topics, listener)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        await self._run(self._consumer.assign, list(partitions))

    async def poll(self, seconds: float = 0.0) -> ConsumerRecords:
        """As `Consumer.poll`."""
        while True:
            if self._polling is None:
                loop = asyncio.get_running_loop()
                self._ended = Event()
                self._polling = loop.run_in_executor(
                    self._thread, self._consumer.poll_until, seconds, self._ended
                )
            polling, ended = self._polling, self._ended
            try:
                records = await asyncio.shield(polling)
            except asyncio.CancelledError:
                ended.set()  # what it reads until it sees that is kept
                raise
            except BaseException:
                self._polling = None
                raise
            self._polling = None
            if records or not ended.is_set():
                return records

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Record by record, for ever. With automatic commits a record counts as read when its poll's last one
        was taken."""
        while True:
            for record in await self.poll(_ITERATION_SECONDS):
                yield record

    async def unsubscribe(self) -> None:
        await self._run(self._consumer.unsubscribe)

    def subscription(self) -> frozenset[str]:
        return self._consumer.subscription()

    async def poll_arrow(self, seconds: float = 0.0) -> pa.RecordBatch:
        """As `Consumer.poll_arrow`. One that was cancelled keeps what it has read for the next one."""
        while True:
            if self._arrow is None:
                loop = asyncio.get_running_loop()
                self._arrow = loop.run_in_executor(self._thread, self._consumer.poll_arrow, seconds)
                self._arrow_cancelled = False
            reading, cancelled = self._arrow, self._arrow_cancelled
            try:
                batch = await asyncio.shield(reading)
            except asyncio.CancelledError:
                self._arrow_cancelled = True
                raise
            except BaseException:
                self._arrow = None
                raise
            self._arrow = None
            if batch.num_rows or not cancelled:
                return batch

    async def commit_sync(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        timeout: float | None = None,
    ) -> None:
        await self._run(self._consumer.commit_sync, offsets, timeout)

    async def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Not waited for. The consumer's thread calls the callback, inside a later call."""
        await self._run(self._consumer.commit_async, offsets, callback)

    commit = commit_sync

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return await self._run(self._consumer.committed, list(partitions))

    async def position(self, partition: TopicPartition) -> int:
        return await self._run(self._consumer.position, partition)

    async def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        await self._run(self._consumer.seek, partition, offset)

    async def seek_to_beginning(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        await self._run(self._consumer.seek_to_beginning, partitions)

    async def seek_to_end(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        await self._run(self._consumer.seek_to_end, partitions)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return await self._run(self._consumer.offsets_for_times, timestamps)

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        await self._run(self._consumer.pause, list(partitions))

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        await self._run(self._consumer.resume, list(partitions))

    async def assignment(self) -> frozenset[TopicPartition]:
        return await self._run(self._consumer.assignment)

    def paused(self) -> frozenset[TopicPartition]:
        return self._consumer.paused()

    async def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        return await self._run(self._consumer.partitions_for, topic, timeout)

    async def list_topics(self, timeout: float | None = None) -> dict[str, int]:
        return await self._run(self._consumer.list_topics, timeout)

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return await self._run(self._consumer.beginning_offsets, list(partitions))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return await self._run(self._consumer.end_offsets, list(partitions))

    async def current_lag(self, partition: TopicPartition) -> int | None:
        return await self._run(self._consumer.current_lag, partition)

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()

    def metrics(self) -> dict[str, float]:
        return self._consumer.metrics()

    async def close(self, timeout: float | None = None) -> None:
        self._ended.set()
        await asyncio.shield(self._run(self._consumer.close, timeout))
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """In the consumer's thread, behind what it does now. A call that was cancelled is still done."""
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, lambda: function(*arguments, **named)))
