"""A transactional producer whose every frame is sent by hand, in version 1 or 2 of transactions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_request, read_response
from penstock.records.record import Record, encode_batch
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline

CALL_SECONDS: Final = 20.0
Identity = tuple[int, int]
Frame = tuple[Api, int, dict[str, Any]]


class Hand:
    """One connection to one broker. Frames are made first and sent later, or on another connection."""

    def __init__(self, servers: str, transactional_id: str, version: int) -> None:
        self._connection = Connection(Address.parse(servers), Deadline(CALL_SECONDS))
        self._id = transactional_id
        self.version = version

    def close(self) -> None:
        self._connection.close()

    # Frames

    def add_frame(self, producer: Identity, topic: str, *indexes: int) -> Frame:
        fields = {
            "v3_and_below_transactional_id": self._id,
            "v3_and_below_producer_id": producer[0],
            "v3_and_below_producer_epoch": producer[1],
            "v3_and_below_topics": [{"name": topic, "partitions": indexes}],
        }
        return Api.ADD_PARTITIONS_TO_TXN, 3, fields

    def produce_frame(
        self, producer: Identity, topic: str, index: int, value: bytes, sequence: int = 0
    ) -> Frame:
        batch = encode_batch(
            [Record(None, value, timestamp_ms=int(time.time() * 1000))],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            transactional=True,
        )
        data = [{"name": topic, "partition_data": [{"index": index, "records": bytes(batch)}]}]
        fields = {"transactional_id": self._id, "acks": -1, "timeout": 10_000, "topic_data": data}
        return Api.PRODUCE, 12 if self.version >= 2 else 9, fields

    def end_frame(self, producer: Identity, *, commit: bool) -> Frame:
        fields = {
            "transactional_id": self._id,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "committed": commit,
        }
        return Api.END_TXN, 5 if self.version >= 2 else 3, fields

    # Calls

    def send(self, frame: Frame) -> None:
        api, version, fields = frame
        self._connection.send(api, version, [encode_request(api, version, fields)], Deadline(CALL_SECONDS))

    def receive(self, frame: Frame) -> Any:
        return read_response(frame[0], frame[1], bytes(self._connection.receive(Deadline(CALL_SECONDS))))

    def call(self, frame: Frame) -> Any:
        self.send(frame)
        return self.receive(frame)

    def find_coordinator(self) -> None:
        self._until(
            lambda: (
                self.call((Api.FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": [self._id]}))
                .coordinators[0]
                .error_code
            )
        )

    def init(self) -> Identity:
        """The identity of a new life; whoever had the id before is fenced."""
        fields = {
            "transactional_id": self._id,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        answers: list[Any] = []

        def attempt() -> int:
            answers.append(self.call((Api.INIT_PRODUCER_ID, 4, fields)))
            return int(answers[-1].error_code)

        self._until(attempt)
        return answers[-1].producer_id, answers[-1].producer_epoch

    def write(self, producer: Identity, topic: str, index: int, value: bytes, sequence: int = 0) -> None:
        """Join the partition to the transaction and write to it."""
        if self.version < 2:
            self._until(lambda: errors_of(self.call(self.add_frame(producer, topic, index)))[0])
        frame = self.produce_frame(producer, topic, index, value, sequence)
        self._until(lambda: errors_of(self.call(frame))[0])

    def end(self, producer: Identity, *, commit: bool) -> Identity:
        """The identity for the next transaction."""
        answer = self.call(self.end_frame(producer, commit=commit))
        assert ErrorCode(answer.error_code) is ErrorCode.NONE, ErrorCode(answer.error_code).name
        return (answer.producer_id, answer.producer_epoch) if self.version >= 2 else producer

    @staticmethod
    def _until(attempt: Callable[[], int]) -> None:
        """Again while the answer is that it is too early."""
        deadline = Deadline(CALL_SECONDS)
        number = 0
        while (code := ErrorCode(attempt())) is not ErrorCode.NONE:
            assert code in TOO_EARLY, code.name
            assert not deadline.passed, f"still {code.name}"
            number += 1
            deadline.pause(number)


TOO_EARLY: Final = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)


def errors_of(answer: Any) -> list[ErrorCode]:
    """Every error code of an answer to Produce, AddPartitionsToTxn or EndTxn."""
    if hasattr(answer, "responses"):
        return [
            ErrorCode(part.error_code) for topic in answer.responses for part in topic.partition_responses
        ]
    if hasattr(answer, "results_by_topic_v3_and_below"):
        return [
            ErrorCode(part.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        ]
    return [ErrorCode(answer.error_code)]
