"""A transactional producer by hand: each request in one line, on a node without sockets."""

from __future__ import annotations

from typing import Any

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import read_response
from penstock.records.record import Record, encode_batch
from tests.handlers.one_node import OneNode

TX = "tx"
GROUP = "g"
TIMEOUT_MS = 60_000

Identity = tuple[int, int]


class HandProducer:
    """Gives error codes where there is nothing else to give."""

    def __init__(self, node: OneNode, name: str = TX) -> None:
        self.node = node
        self.name = name
        node.ask(Api.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=[name])
        node.ask(Api.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[GROUP])

    def init(self, expected: Identity = (-1, -1), *, version: int = 4, timeout_ms: int = TIMEOUT_MS) -> Any:
        return self.node.ask(
            Api.INIT_PRODUCER_ID,
            version,
            transactional_id=self.name,
            transaction_timeout=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )

    def identity(self) -> Identity:
        answer = self.init()
        assert answer.error_code == ErrorCode.NONE
        return answer.producer_id, answer.producer_epoch

    def add(self, producer: Identity, *places: tuple[str, int], version: int = 3) -> list[ErrorCode]:
        answer = self.node.ask(
            Api.ADD_PARTITIONS_TO_TXN,
            version,
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[{"name": topic, "partitions": [index]} for topic, index in places],
        )
        return [
            ErrorCode(part.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        ]

    def add_offsets(self, producer: Identity, version: int = 3) -> ErrorCode:
        answer = self.node.ask(
            Api.ADD_OFFSETS_TO_TXN,
            version,
            transactional_id=self.name,
            producer_id=producer[0],
            producer_epoch=producer[1],
            group_id=GROUP,
        )
        return ErrorCode(answer.error_code)

    def commit_offset(
        self, producer: Identity, offset: int, *, topic: str = "t", index: int = 0, version: int = 3
    ) -> ErrorCode:
        part = {"partition_index": index, "committed_offset": offset, "committed_metadata": ""}
        fields = {
            "transactional_id": self.name,
            "group_id": GROUP,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "topics": [{"name": topic, "partitions": [part]}],
        }
        outcome = self.node.submit(Api.TXN_OFFSET_COMMIT, version, **fields)
        (reply,) = self.node.settle(outcome).parts
        assert isinstance(reply, bytes)
        answer = read_response(Api.TXN_OFFSET_COMMIT, version, reply)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, producer: Identity, *, commit: bool = True, version: int = 3) -> Any:
        return self.node.ask(
            Api.END_TXN,
            version,
            transactional_id=self.name,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )

    def describe(self) -> Any:
        return self.node.ask(Api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[self.name]).transaction_states[
            0
        ]

    def fetch_offset(self, *, stable: bool = False, topic: str = "t") -> int | ErrorCode:
        wish = {"name": topic, "partition_indexes": [0]}
        group = {"group_id": GROUP, "member_id": None, "member_epoch": -1, "topics": [wish]}
        answer = self.node.ask(Api.OFFSET_FETCH, 9, groups=[group], require_stable=stable)
        part = answer.groups[0].topics[0].partitions[0]
        return ErrorCode(part.error_code) if part.error_code else part.committed_offset

    def write(
        self, producer: Identity, *values: bytes, topic: str = "t", index: int = 0, sequence: int = 0
    ) -> int:
        """A transactional batch, straight to the partition, past all that a produce request checks."""
        batch = encode_batch(
            [Record(None, value, (), self.node.clock.now_ms()) for value in values],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            transactional=True,
        )
        partition = self.node.broker.partitions.get(topic, index)
        guard = partition.begin_verification(*producer, sequence, epoch_bump=False)
        return partition.append_internal(memoryview(batch), guard=guard).base_offset
