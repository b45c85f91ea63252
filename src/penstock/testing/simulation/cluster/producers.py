"""Producers of a simulated cluster: they follow leaders and try again, as real ones do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from penstock.records.record import Record as Encoded
from penstock.records.record import encode_batch
from penstock.testing.history.events import Acked, Send, Value
from penstock.testing.history.recorder import Recorder
from penstock.testing.simulation.cluster.metadata import BACKOFF_MS, ClusterClient

ALL: Final = -1
PAUSE_MS: Final = 60.0
MAX_BATCH: Final = 4
PRODUCE_TIMEOUT_MS: Final = 1_500

REFUSALS: Final = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
    }
)
"""Answers after which an idempotent producer cannot go on without a new epoch, and so without the risk of
writing twice: a broker that keeps its promises never gives them, also when the batch before was refused. All
others are tried again."""


@dataclass(slots=True, eq=False)
class _Batch:
    base_sequence: int
    values: dict[int, Value] = field(default_factory=dict)
    """By operation, in the order of sending."""
    is_under_way: bool = False
    is_acked: bool = False


class Producer:
    """An idempotent producer with up to `at_once` batches under way. When one is refused, or its answer does
    not come, all that are not acknowledged are sent again in order, once nothing is under way any more. With
    `acks=1` it asks for no promise and never repeats: leaders then have what nobody else has."""

    def __init__(
        self, client: ClusterClient, recorder: Recorder, *, acks: int = ALL, at_once: int = 1
    ) -> None:
        self.acked = 0
        self.refusal = ""
        self._acks = acks
        self._at_once = at_once
        self._client = client
        self._recorder = recorder
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        self._sequence = 0
        self._batches: list[_Batch] = []  # begins with one that is not acknowledged
        self._drains = False  # something has to be sent again: nothing new before that
        self._stopped = False
        self._due = False
        self._soon()

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def idle(self) -> bool:
        return self._stopped and not self._batches

    def cut(self) -> None:
        self._client.cut()

    def stop(self) -> None:
        """Begin no new batch."""
        self._stopped = True

    def _soon(self, most_ms: float = BACKOFF_MS) -> None:
        """Go on a little later, and once."""
        if not self._due:
            self._due = True
            self._client.later(self._go_on, most_ms)

    def _go_on(self) -> None:
        if self._producer_id < 0 and self._acks == ALL:
            self._get_id()
        elif self._client.leader is None:
            self._client.refresh(self._go_on)
        else:
            self._due = False
            self._send_all(self._client.leader)

    def _get_id(self) -> None:
        fields = {
            "transactional_id": None,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }

        def again() -> None:
            self._client.later(self._go_on)

        def answered(response: Any) -> None:
            if int(response.error_code) == ErrorCode.NONE:
                self._producer_id, self._producer_epoch = int(response.producer_id), response.producer_epoch
            again()

        self._client.anybody().call(Api.INIT_PRODUCER_ID, 4, fields, answered, again)

    # Sending

    def _send_all(self, leader: int) -> None:
        """What has to be sent again, and one more batch."""
        if self._drains and any(batch.is_under_way for batch in self._batches):
            return  # whoever ends last goes on
        self._drains = False
        if not self._stopped and len(self._batches) < self._at_once:
            self._batches.append(self._new_batch())
        for batch in self._batches:
            if not batch.is_acked and not batch.is_under_way:
                self._send(leader, batch)
        if not self._stopped and len(self._batches) < self._at_once:
            self._soon(PAUSE_MS)

    def _new_batch(self) -> _Batch:
        batch = _Batch(self._sequence)
        for _ in range(self._client.random.randint(1, MAX_BATCH)):
            value = Value(self.name, 0, self._sequence)
            send = Send(self._client.partition, value, idempotent=self._acks == ALL)
            batch.values[self._recorder.invoke(self.name, send)] = value
            self._sequence += 1
        return batch

    def _send(self, leader: int, batch: _Batch) -> None:
        now_ms = self._client.now_ms()
        data = encode_batch(
            [Encoded(None, value.encode(), (), now_ms) for value in batch.values.values()],
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=batch.base_sequence if self._acks == ALL else NO_SEQUENCE,
        )
        place = self._client.partition
        partitions = [{"index": place.number, "records": bytes(data)}]
        fields = {
            "transactional_id": None,
            "acks": self._acks,
            "timeout": PRODUCE_TIMEOUT_MS,
            "topic_data": [{"name": place.topic, "partition_data": partitions}],
        }
        batch.is_under_way = True
        self._client.link(leader).call(
            Api.PRODUCE, 9, fields, self._answered(batch), lambda: self._failed(batch)
        )

    # Answers

    def _answered(self, batch: _Batch) -> Callable[[Any], None]:
        def answered(response: Any) -> None:
            result = response.responses[0].partition_responses[0]
            code = ErrorCode(int(result.error_code))
            if code in REFUSALS:
                self.refusal = f"{self.name}: {code.name} {result.error_message}"
                raise AssertionError(f"a producer was refused: {self.refusal}")
            if code is not ErrorCode.NONE:
                self._failed(batch)
            else:
                self._succeeded(batch, result.base_offset)

        return answered

    def _succeeded(self, batch: _Batch, base_offset: int) -> None:
        if self._acks != ALL:
            self._give_up(batch)
        else:
            for index, operation in enumerate(batch.values):
                self._recorder.ok(operation, Acked(base_offset + index))
            self.acked += len(batch.values)
            self._end(batch, is_acked=True)
        self._soon(PAUSE_MS)

    def _failed(self, batch: _Batch) -> None:
        self._client.leader = None
        if self._acks != ALL:
            self._give_up(batch)
        else:
            self._drains = True
            self._end(batch, is_acked=False)
        self._soon()

    def _end(self, batch: _Batch, *, is_acked: bool) -> None:
        batch.is_under_way, batch.is_acked = False, is_acked
        while self._batches and self._batches[0].is_acked:
            self._batches.pop(0)

    def _give_up(self, batch: _Batch) -> None:
        """Nobody knows what became of the batch, and nobody will ask."""
        for operation in batch.values:
            self._recorder.info(operation, "no promise was asked for")
        self._batches.remove(batch)
