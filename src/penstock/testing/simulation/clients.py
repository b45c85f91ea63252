"""Simulated clients. What they ask and are told becomes a history for `penstock.testing.history` to judge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.batch import iter_headers
from penstock.records.record import Record as Encoded
from penstock.records.record import decode_batch, encode_batch
from penstock.testing.history.events import (
    Acked,
    Assign,
    Isolation,
    Partition,
    Poll,
    Polled,
    ReadRecord,
    Send,
    Value,
    Watermarks,
)
from penstock.testing.history.recorder import Recorder
from penstock.testing.simulation.broker import SimulatedBroker
from penstock.testing.simulation.network import ClientConnection
from penstock.testing.simulation.world import World

PAUSE_MS: Final = 40.0
MAX_BATCH: Final = 5


class SimulatedProducer:
    """An idempotent producer with one batch in flight, which it repeats until it is acknowledged or refused;
    after a refusal it sends no more."""

    def __init__(
        self, world: World, broker: SimulatedBroker, recorder: Recorder, name: str, partition: Partition
    ) -> None:
        self.acked = 0
        self.refusal = ""
        self._world = world
        self._recorder = recorder
        self._name = name
        self._partition = partition
        self._producer_id = -1
        self._sequence = 0
        self._batch: dict[int, Value] = {}  # by operation, in the order of sending
        self._attempts = 0
        self._stopped = False
        self._connection: ClientConnection | None = None
        self._connection = ClientConnection(world, broker, self._resume)

    def stop(self) -> None:
        """Begin no new batch."""
        self._stopped = True

    @property
    def idle(self) -> bool:
        return self._stopped and not self._batch

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.cut()

    def _resume(self) -> None:
        """Connected, for the first time or again: go on with whatever is not known to be done."""
        self._world.after(0, self._get_id if self._producer_id < 0 else self._send)

    def _get_id(self) -> None:
        fields = {
            "transactional_id": None,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        self._ask(Api.INIT_PRODUCER_ID, 4, fields, self._got_id)

    def _got_id(self, response: Any) -> None:
        assert int(response.error_code) == ErrorCode.NONE, response
        if self._producer_id < 0:
            self._producer_id = int(response.producer_id)
        self._send()

    def _send(self) -> None:
        if not self._batch:
            if self._stopped:
                return
            self._begin_batch()
        self._attempts += 1
        now = self._world.now_ms()
        batch = encode_batch(
            [Encoded(None, value.encode(), (), now) for value in self._batch.values()],
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._sequence,
        )
        partitions = [{"index": self._partition.number, "records": bytes(batch)}]
        topics = [{"name": self._partition.topic, "partition_data": partitions}]
        fields = {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": topics}
        self._ask(Api.PRODUCE, 9, fields, self._got_ack)

    def _begin_batch(self) -> None:
        self._attempts = 0
        for index in range(self._world.random.randint(1, MAX_BATCH)):
            value = Value(self._name, 0, self._sequence + index)
            self._batch[self._recorder.invoke(self._name, Send(self._partition, value))] = value

    def _got_ack(self, response: Any) -> None:
        result = response.responses[0].partition_responses[0]
        code = ErrorCode(int(result.error_code))
        if code is ErrorCode.NONE:
            for index, operation in enumerate(self._batch):
                self._recorder.ok(operation, Acked(result.base_offset + index))
            self.acked += len(self._batch)
            self._sequence += len(self._batch)
            self._batch = {}
        elif code is not ErrorCode.KAFKA_STORAGE_ERROR:
            self._refused(f"{code.name} {result.error_message}")
        self._world.after(self._world.random.uniform(0, PAUSE_MS), self._send)

    def _refused(self, why: str) -> None:
        # An attempt whose answer was lost may have been appended.
        end = self._recorder.fail if self._attempts == 1 else self._recorder.info
        for operation in self._batch:
            end(operation, why)
        self._batch = {}
        self._stopped = True
        self.refusal = f"{self._name}: {why}"

    def _ask(self, api: Api, version: int, fields: dict[str, Any], answer: Any) -> None:
        if self._connection is not None:
            self._connection.request(api, version, fields, answer)


class SimulatedConsumer:
    """Reads one partition from its beginning by long polls. Under read_committed it leaves out what was
    aborted, as clients do: by the list that comes with the records."""

    def __init__(
        self,
        world: World,
        broker: SimulatedBroker,
        recorder: Recorder,
        name: str,
        partition: Partition,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> None:
        self.records: list[ReadRecord] = []
        self.position = 0
        self.high_watermark = 0
        self.partition = partition
        self._isolation = isolation
        self._world = world
        self._recorder = recorder
        self._name = name
        self._operation: int | None = None
        recorder.fact(name, Assign(partition, start=0))
        self._connection: ClientConnection | None = None
        self._connection = ClientConnection(world, broker, lambda: world.after(0, self._fetch))

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.cut()

    def _fetch(self) -> None:
        if self._connection is None:
            return
        if self._operation is not None:
            self._recorder.fail(self._operation, "the connection broke, and nothing was taken")
        self._operation = self._recorder.invoke(self._name, Poll(self._isolation))
        wanted = {
            "partition": self.partition.number,
            "current_leader_epoch": -1,
            "fetch_offset": self.position,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": self._world.random.choice([1, 200, 1 << 20]),
        }
        fields = {
            "replica_id": -1,
            "max_wait": 500,
            "min_bytes": self._world.random.choice([0, 1, 500]),
            "max_bytes": 1 << 20,
            "isolation_level": int(self._isolation is Isolation.READ_COMMITTED),
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": self.partition.topic, "partitions": [wanted]}],
            "forgotten_topics_data": (),
            "rack_id": "",
        }
        self._connection.request(Api.FETCH, 12, fields, self._got)

    def _got(self, response: Any) -> None:
        answer = response.responses[0].partitions[0]
        code = ErrorCode(int(answer.error_code))
        operation, self._operation = self._operation, None
        assert operation is not None, "an answer that nobody waits for"
        if code is ErrorCode.NONE:
            self._take(operation, answer)
        else:
            self._recorder.fail(operation, code.name)
        self._world.after(self._world.random.uniform(0, PAUSE_MS), self._fetch)

    def _take(self, operation: int, answer: Any) -> None:
        """A batch comes whole; what lies before the position was had already."""
        data = bytes(answer.records or b"")
        aborted = [(each.first_offset, each.producer_id) for each in answer.aborted_transactions or ()]
        records = [
            record for record in records_of(self.partition, data, aborted) if record.offset >= self.position
        ]
        seen = Watermarks(self.partition, answer.high_watermark, answer.last_stable_offset)
        self._recorder.ok(operation, Polled(tuple(records), (seen,)))
        self.high_watermark = answer.high_watermark
        self.records += records
        for _, header in iter_headers(memoryview(data)):
            self.position = max(self.position, header.next_offset)


def records_of(
    partition: Partition, data: bytes, aborted: Iterable[tuple[int, int]] = ()
) -> list[ReadRecord]:
    """The records of whole batches, without markers and without what was `aborted`: (first offset, producer
    id) of each transaction, which ends at the producer's next marker."""
    waiting, ended, found = sorted(aborted), set[int](), list[ReadRecord]()
    for position, header in iter_headers(memoryview(data)):
        while waiting and waiting[0][0] <= header.base_offset:
            ended.add(waiting.pop(0)[1])
        if header.is_control:
            ended.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in ended):
            found += [
                ReadRecord(partition, record.offset, Value.parse(record.value), record.key)
                for record in decode_batch(data, position)
            ]
    return found
