"""Simulated clients. They keep what they were promised, so that the end of a run can be held against it."""

from __future__ import annotations

from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.batch import iter_headers
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.testing.simulation.broker import SimulatedBroker
from penstock.testing.simulation.network import ClientConnection
from penstock.testing.simulation.world import World

PAUSE_MS: Final = 40.0
MAX_BATCH: Final = 5

Value = bytes


class SimulatedProducer:
    """An idempotent producer with one batch in flight, which it repeats until it is acknowledged."""

    def __init__(self, world: World, broker: SimulatedBroker, name: str, topic: str, partition: int) -> None:
        self.acked: list[tuple[int, Value]] = []  # (offset, value) in the order of sending
        self.sent: list[Value] = []
        self.partition = partition
        self._world = world
        self._name = name
        self._topic = topic
        self._producer_id = -1
        self._sequence = 0
        self._batch: list[Value] = []
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
            count = self._world.random.randint(1, MAX_BATCH)
            first = len(self.sent)
            self._batch = [f"{self._name}/{first + index}".encode() for index in range(count)]
            self.sent += self._batch
        now = self._world.now_ms()
        batch = encode_batch(
            [Record(None, value, (), now) for value in self._batch],
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._sequence,
        )
        partitions = [{"index": self.partition, "records": bytes(batch)}]
        topics = [{"name": self._topic, "partition_data": partitions}]
        fields = {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": topics}
        self._ask(Api.PRODUCE, 9, fields, self._got_ack)

    def _got_ack(self, response: Any) -> None:
        result = response.responses[0].partition_responses[0]
        code = ErrorCode(int(result.error_code))
        if code is ErrorCode.NONE:
            self.acked += [(result.base_offset + index, value) for index, value in enumerate(self._batch)]
            self._sequence += len(self._batch)
            self._batch = []
        else:
            assert code is ErrorCode.KAFKA_STORAGE_ERROR, f"{self._name}: {code.name} {result.error_message}"
        self._world.after(self._world.random.uniform(0, PAUSE_MS), self._send)

    def _ask(self, api: Api, version: int, fields: dict[str, Any], answer: Any) -> None:
        if self._connection is not None:
            self._connection.request(api, version, fields, answer)


class SimulatedConsumer:
    """Reads one partition from its beginning by long polls, and insists that offsets have no gap."""

    def __init__(self, world: World, broker: SimulatedBroker, topic: str, partition: int) -> None:
        self.seen: list[tuple[int, Value | None]] = []
        self.partition = partition
        self.high_watermark = 0
        self._world = world
        self._topic = topic
        self._connection: ClientConnection | None = None
        self._connection = ClientConnection(world, broker, lambda: world.after(0, self._fetch))

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.cut()

    def _fetch(self) -> None:
        if self._connection is None:
            return
        wanted = {
            "partition": self.partition,
            "current_leader_epoch": -1,
            "fetch_offset": len(self.seen),
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": self._world.random.choice([1, 200, 1 << 20]),
        }
        fields = {
            "replica_id": -1,
            "max_wait": 500,
            "min_bytes": self._world.random.choice([0, 1, 500]),
            "max_bytes": 1 << 20,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": self._topic, "partitions": [wanted]}],
            "forgotten_topics_data": (),
            "rack_id": "",
        }
        self._connection.request(Api.FETCH, 12, fields, self._got)

    def _got(self, response: Any) -> None:
        answer = response.responses[0].partitions[0]
        code = ErrorCode(int(answer.error_code))
        assert code in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR), code.name
        if code is ErrorCode.NONE:
            self._take(bytes(answer.records or b""), answer.high_watermark)
        self._world.after(self._world.random.uniform(0, PAUSE_MS), self._fetch)

    def _take(self, data: bytes, high_watermark: int) -> None:
        assert high_watermark >= self.high_watermark, "the high watermark went back"
        self.high_watermark = high_watermark
        for position, _ in iter_headers(memoryview(data)):
            for record in decode_batch(data, position):
                if record.offset >= len(self.seen):
                    assert record.offset == len(self.seen), (
                        f"offset {record.offset} after {len(self.seen) - 1}"
                    )
                    self.seen.append((record.offset, record.value))
