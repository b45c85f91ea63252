"""States of share partitions in their shard: written, fenced, deleted, read again after a restart."""

from __future__ import annotations

import itertools

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.codecs import Codec
from penstock.records.record import Record
from penstock.share.coordinator import ShareCoordinator
from penstock.share.records import UPDATE, decode_snapshot, encode_key, encode_snapshot
from penstock.share.state import (
    NEXT_STATE_EPOCH,
    NO_OFFSET,
    PartitionState,
    RecordState,
    SharePartitionKey,
    StateBatch,
)
from tests.coordinator.manual_clock import ManualClock
from tests.coordinator.memory_log import MemoryLog

KEY = SharePartitionKey("g", b"t" * 16, 3)
BATCHES = (StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1), StateBatch(7, 7, RecordState.AVAILABLE, 2))


class Stage:
    def __init__(self) -> None:
        self.log = MemoryLog()
        self._epochs = itertools.count()
        self.reload()

    def reload(self) -> None:
        self.states = ShareCoordinator(ManualClock(), lambda: 1, Codec.NONE)
        self.states.runtime.elect(0, self.log, next(self._epochs))
        self.states.runtime.load_next()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def code_of(promise: object) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        promise.result()  # type: ignore[attr-defined]
    return refused.value.code


def test_what_was_written_is_read_after_a_restart(stage: Stage) -> None:
    assert stage.states.read(KEY, 1).result() == PartitionState(0, 1, NO_OFFSET)
    state = PartitionState(0, 1, 4, BATCHES)
    stage.states.write(KEY, state).result()
    stage.reload()
    assert stage.states.read(KEY, 2).result() == state._replace(leader_epoch=2)
    assert stage.states.summary(KEY).result().completed == 2


def test_an_earlier_leader_can_write_no_more(stage: Stage) -> None:
    stage.states.read(KEY, 1).result()
    stage.states.read(KEY, 2).result()
    assert code_of(stage.states.write(KEY, PartitionState(0, 1, 9))) is ErrorCode.FENCED_LEADER_EPOCH
    assert code_of(stage.states.read(KEY, 1)) is ErrorCode.FENCED_LEADER_EPOCH
    stage.states.write(KEY, PartitionState(0, 2, 9)).result()


def test_a_place_that_was_set_anew_fences_the_state_before(stage: Stage) -> None:
    stage.states.read(KEY, 1).result()
    stage.states.write(KEY, PartitionState(0, 1, 4, BATCHES)).result()
    stage.states.initialise(KEY, NEXT_STATE_EPOCH, 0).result()
    assert stage.states.summary(KEY).result() == PartitionState(1, 1, 0)
    assert code_of(stage.states.write(KEY, PartitionState(0, 1, 8))) is ErrorCode.FENCED_STATE_EPOCH


def test_a_deleted_state_takes_no_writes(stage: Stage) -> None:
    stage.states.read(KEY, 1).result()
    stage.states.delete(KEY).result()
    assert code_of(stage.states.write(KEY, PartitionState(0, 1, 4))) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    stage.reload()
    assert stage.states.summary(KEY).result() == PartitionState()


def test_states_of_a_deleted_topic_go_with_it(stage: Stage) -> None:
    other = KEY._replace(topic_id=b"u" * 16)
    for key in (KEY, other):
        stage.states.read(key, 1).result()
        stage.states.write(key, PartitionState(0, 1, 4)).result()
    stage.states.topics_deleted({"t": KEY.topic_id})
    assert stage.states.summary(KEY).result().start_offset == NO_OFFSET
    assert stage.states.summary(other).result().start_offset == 4


def test_updates_that_kafka_writes_are_laid_over_the_snapshot(stage: Stage) -> None:
    from penstock.coordinator.decision import Decision
    from penstock.protocol.primitives import Writer

    stage.states.read(KEY, 1).result()
    stage.states.write(KEY, PartitionState(0, 1, 4, BATCHES)).result()
    writer = Writer()
    writer.int16(0)
    writer.flexible = True
    for number in (1, 1):
        writer.int32(number)
    writer.int64(-1)
    writer.array(1)
    writer.int64(7)
    writer.int64(8)
    writer.int8(RecordState.ARCHIVED)
    writer.int16(3)
    writer.tags()
    writer.tags()
    key = UPDATE.to_bytes(2, "big") + encode_key(KEY)[2:]
    update = Record(key, bytes(writer.data), (), 0)
    stage.states.runtime.submit(0, lambda shard: Decision((update,)))
    assert stage.states.summary(KEY).result().batches == (
        StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1),
        StateBatch(7, 8, RecordState.ARCHIVED, 3),
    )


def test_a_snapshot_is_read_as_it_was_written() -> None:
    state = PartitionState(3, 2, 4, BATCHES)
    record = encode_snapshot(KEY, state, 7, 1234)
    assert record.value is not None
    assert decode_snapshot(record.value) == (state, 7)
