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
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

from penstock.client.api.consumer import Consumer
from penstock.client.api.exceptions import ProducerFencedException, WakeupException
from penstock.client.api.futures import RecordFuture, WouldBlock
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
                self._polling = loop.run_in_executor(self._thread, self._consumer.poll, seconds)
            polling = self._polling
            try:
                records = await asyncio.shield(polling)
            except asyncio.CancelledError:
                self._consumer.wakeup()  # what it reads until it sees that is kept
                raise
            except WakeupException:
                self._polling = None  # of a poll that was cancelled
                continue
            except BaseException:
                self._polling = None
                raise
            self._polling = None
            return records

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Record by record, for ever. With automatic commits a record counts as read when its poll's last one
        was taken."""
        while True:
            for record in await self.poll(_ITERATION_SECONDS):
                yield record

    async def commit_sync(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None
    ) -> None:
        await self._run(self._consumer.commit_sync, offsets)

    commit = commit_sync

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return await self._run(self._consumer.committed, list(partitions))

    async def position(self, partition: TopicPartition) -> int:
        return await self._run(self._consumer.position, partition)

    async def seek(self, partition: TopicPartition, offset: int) -> None:
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

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()

    def metrics(self) -> dict[str, float]:
        return self._consumer.metrics()

    async def close(self) -> None:
        await asyncio.shield(self._run(self._consumer.close))
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
