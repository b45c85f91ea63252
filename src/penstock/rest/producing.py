"""`Producing`: one idempotent producer for all requests, and what became of each record.

Records are handed to librdkafka from the event loop, which never blocks there: when the queue is full, a
coroutine waits for room. One thread serves delivery reports and gives them back to the loop in bunches, so
that all state here belongs to the loop. Called by the produce routes.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from penstock.client.errors import BrokerRefused, BrokerUnreachable, ClientError
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Produced
from penstock.rest.config import PRODUCER_QUEUE_KBYTES, RestSettings
from penstock.rest.errors import UNKNOWN_PARTITION

_log = logging.getLogger(__name__)

Outcome = Produced | ClientError
"""Where a record is, or why it is nowhere."""

Place = tuple[int, int, int | None]
"""The partition, the offset and the timestamp of a record that was written."""


class Together:
    """Records of one topic that were handed over together. `future` is done when all have an outcome."""

    __slots__ = ("_left", "future", "outcomes")

    def __init__(self, future: asyncio.Future[None], count: int) -> None:
        self.future = future
        self.outcomes: list[Place | ClientError] = [(0, 0, None)] * count
        self._left = count

    def settle(self, at: int, outcome: Place | ClientError) -> None:
        self.outcomes[at] = outcome
        self._left -= 1
        if not self._left and not self.future.done():
            self.future.set_result(None)

    def cut_to(self, count: int) -> None:
        """Only the first ones were taken."""
        self._left -= len(self.outcomes) - count
        del self.outcomes[count:]
        if not self._left and not self.future.done():
            self.future.set_result(None)


ROOM_AGAIN_S: Final = 0.01
"""How long to wait for delivery reports when the queue is full, before trying again."""
POLL_S: Final = 0.1
SERVED_AFTER: Final = 100
"""Records after which the event loop looks for reports itself."""
STAND_BACK_S: Final = 0.002
"""How long the thread of reports waits when the event loop has just looked."""
FLUSH_S: Final = 5.0


class Producing:
    """Made and used in a running event loop; `close` waits for what is on its way."""

    def __init__(self, bootstrap_servers: str, settings: RestSettings) -> None:
        extra = {**settings.client, **settings.producer}
        self._connection = Connection(bootstrap_servers, settings.request_timeout_s, extra)
        self._loop = asyncio.get_running_loop()
        self._reports: deque[tuple[asyncio.Future[Outcome] | tuple[Together, int], Any, Any]] = deque()
        self._scheduled = False
        """Whether the loop has been told that there are reports."""
        self._stopping = threading.Event()
        self._offered = 0
        """Records since the event loop looked for reports."""
        self._served_here = 0.0
        self._library_error = _library_error()
        self._producer = self._new_producer()
        self._thread = threading.Thread(target=self._serve, name="rest-delivery-reports", daemon=True)
        self._thread.start()

    async def produce(self, topic: str, records: Iterable[NewRecord]) -> list[Outcome]:
        """What became of each record, in their order. Never raises for a record."""
        futures = [self.send_now(topic, record) or await self.send(topic, record) for record in records]
        return [await future for future in futures]

    async def send(self, topic: str, record: NewRecord) -> asyncio.Future[Outcome]:
        """Hands one record over, waiting while the queue is full; the future is done within the deadline."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        deadline = self._loop.time() + self._connection.timeout_s
        while not self._offer(topic, record, future):
            if self._loop.time() > deadline:
                future.set_result(self._unreachable())
                break
            await asyncio.sleep(ROOM_AGAIN_S)
        return future

    def send_now(self, topic: str, record: NewRecord) -> asyncio.Future[Outcome] | None:
        """The same where there is room at once; else None."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        return future if self._offer(topic, record, future) else None

    def send_together(self, topic: str, records: Sequence[tuple[bytes | None, bytes | None]]) -> Together:
        """Hands values with keys over, as many of them as there is room for: `outcomes` has so many."""
        together = Together(self._loop.create_future(), len(records))
        taken = 0
        for value, key in records:
            try:
                self._producer.produce(
                    topic, value, key, on_delivery=partial(self._report, (together, taken))
                )
            except BufferError:
                together.cut_to(taken)
                break
            except self._library_error as error:
                self._renew_after(error.args[0])
                together.settle(taken, self._error(error, topic))
            taken += 1
        self._offered += taken
        if self._offered >= SERVED_AFTER:
            self._serve_here()
        return together

    def close(self) -> None:
        """Blocks for a moment: every accepted record is acknowledged or reported as failed."""
        self._producer.flush(FLUSH_S)
        self._stopping.set()
        self._thread.join(FLUSH_S)

    def _offer(self, topic: str, record: NewRecord, future: asyncio.Future[Outcome]) -> bool:
        """False when the queue is full."""
        optional: dict[str, Any] = {}
        if record.partition is not None:
            optional["partition"] = record.partition
        if record.timestamp_ms is not None:
            optional["timestamp"] = record.timestamp_ms
        if record.headers:
            optional["headers"] = list(record.headers)
        try:
            self._producer.produce(
                topic, record.value, record.key, on_delivery=partial(self._report, future), **optional
            )
        except BufferError:
            return False
        except self._library_error as error:
            self._renew_after(error.args[0])
            future.set_result(self._error(error, topic))
        except (TypeError, ValueError, OverflowError) as error:  # what the binding itself does not take
            future.set_result(BrokerRefused(f"The record cannot be written: {error}.", "_INVALID_ARG"))
        self._offered += 1
        if self._offered >= SERVED_AFTER:
            self._serve_here()
        return True

    def _serve_here(self) -> None:
        """Many records in a row: the event loop takes their reports itself. Two threads that pass the
        interpreter's lock to and fro for every report take twice the time."""
        self._offered = 0
        self._served_here = self._loop.time()
        self._scheduled = True  # the reports are taken below, without a detour
        self._producer.poll(0)
        self._hand_over()

    def _report(self, waiting: asyncio.Future[Outcome] | tuple[Together, int], error: Any, raw: Any) -> None:
        """Called in the thread that polls."""
        self._reports.append((waiting, error, raw))
        if not self._scheduled:
            self._scheduled = True
            with suppress(RuntimeError):  # the loop may have been closed meanwhile
                self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._scheduled = False  # before the first report is taken: one that comes now schedules again
        while self._reports:
            future, error, raw = self._reports.popleft()
            if isinstance(future, tuple):
                self._settle(*future, error, raw)
                continue
            if future.done():  # its request is gone
                continue
            if error is not None:
                self._renew_after(error)
                future.set_result(self._error(error, raw.topic()))
            else:
                kind, timestamp_ms = raw.timestamp()
                at = timestamp_ms if kind else None
                future.set_result(Produced(raw.topic(), raw.partition(), raw.offset(), at))

    def _settle(self, together: Together, at: int, error: Any, raw: Any) -> None:
        if error is not None:
            self._renew_after(error)
            together.settle(at, self._error(error, raw.topic()))
        else:
            kind, timestamp_ms = raw.timestamp()
            together.settle(at, (raw.partition(), raw.offset(), timestamp_ms if kind else None))

    def _serve(self) -> None:
        while not self._stopping.is_set():
            if self._loop.time() - self._served_here < STAND_BACK_S:
                self._stopping.wait(STAND_BACK_S)
            self._producer.poll(POLL_S)

    def _new_producer(self) -> Any:
        from confluent_kafka import Producer

        timeout_ms = int(self._connection.timeout_s * 1000)
        return Producer(
            self._connection.settings(
                acks="all",
                enable_idempotence=True,
                partitioner="murmur2_random",
                linger_ms=0.5,  # requests of many clients share a batch, and one client hardly waits for it
                message_timeout_ms=timeout_ms,
                topic_metadata_propagation_max_ms=min(2_000, timeout_ms),
                message_max_bytes=16 * 1024 * 1024,  # the broker decides; a body is never larger
                queue_buffering_max_messages=100_000,
                queue_buffering_max_kbytes=PRODUCER_QUEUE_KBYTES,
            )
        )

    def _renew_after(self, error: Any) -> None:
        """After a fatal error an idempotent producer takes nothing any more: another one takes its place."""
        if error.fatal():
            _log.error("the producer failed for good and is replaced: %s", error.str())
            self._producer = self._new_producer()

    def _error(self, error: Any, topic: str) -> ClientError:
        kafka_error = error.args[0] if isinstance(error, Exception) else error
        if kafka_error.name() == UNKNOWN_PARTITION:
            return BrokerRefused(f"Topic {topic!r} has no such partition.", UNKNOWN_PARTITION)
        return self._connection.error(error, f"write to topic {topic!r}", topic)

    def _unreachable(self) -> BrokerUnreachable:
        connection = self._connection
        return BrokerUnreachable(connection.bootstrap_servers, connection.timeout_s, connection.reason)


def _library_error() -> type[Exception]:
    from confluent_kafka import KafkaException

    return KafkaException
