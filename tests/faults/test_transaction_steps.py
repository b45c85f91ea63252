"""The broker killed at every write of a transaction: after the restart the transaction is whole or gone.

The real broker on a disk in memory that dies at its k-th write, for every k, before the write or in the
middle of it. What the log says is read off its bytes, not asked of the code that wrote them.
"""

from __future__ import annotations

from random import Random

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.batch import iter_headers
from penstock.records.control import read_marker
from penstock.records.record import decode_batch
from penstock.testing.disk import SimDisk
from tests.handlers.one_node import OneNode
from tests.handlers.transactional import HandProducer

PARTITIONS = 3
ATTEMPTS = 5
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


class Killed(BaseException):
    """The process is no more; no handler may catch this."""


class DyingDisk(SimDisk):
    """Dies at a write to a log: before it, or when half of the one before it has been written."""

    def __init__(self) -> None:
        super().__init__(Random(1))
        self.writes = 0
        self.dies_at = -1
        self.torn = False
        self._last: tuple[str, int] | None = None

    def fail_if_told(self, operation: str, path: str) -> None:
        super().fail_if_told(operation, path)
        if operation != "write" or not path.endswith(".log") or not self.exists(path):
            return
        if self.writes == self.dies_at:
            if self.torn and self._last is not None:
                last, before = self._last
                self.open(last).truncate((before + self.size(last)) // 2)
            raise Killed
        self.writes += 1
        self._last = (path, self.size(path))


class Scene:
    """One transaction over three partitions and the offsets of a group, after one that was committed."""

    def __init__(self, *, commit: bool, version: int) -> None:
        self.disk = DyingDisk()
        self.node = OneNode(SETTINGS, self.disk)
        self.node.create_topic("t", PARTITIONS)
        self.producer = HandProducer(self.node)
        self.commit, self.version = commit, version
        self.told = False
        self.identity = self.producer.identity()
        self._transaction(b"first", 1, commit=True)
        self.first_write = self.disk.writes

    def run(self) -> None:
        self._transaction(b"second", 2, commit=self.commit)
        self.told = True

    def _transaction(self, value: bytes, offset: int, *, commit: bool) -> None:
        me, producer = self.identity, self.producer
        producer.add(me, *(("t", index) for index in range(PARTITIONS)))
        producer.add_offsets(me)
        for index in range(PARTITIONS):
            producer.write(me, value, index=index, sequence=0 if self.version == 5 else offset - 1)
        assert producer.commit_offset(me, offset) is ErrorCode.NONE
        answer = producer.end(me, commit=commit, version=self.version)
        assert answer.error_code == ErrorCode.NONE
        if self.version == 5:
            self.identity = (answer.producer_id, answer.producer_epoch)

    def restart(self) -> None:
        self.disk.dies_at = -1
        self.node.restart(killed=True)
        self.node.load()
        for _ in range(ATTEMPTS):  # its successor takes over, and aborts what it finds open
            if self.producer.init().error_code == ErrorCode.NONE:
                return
        raise AssertionError("the id is never free again")

    def committed(self, index: int) -> list[bytes]:
        """What the bytes of a partition say is committed."""
        partition = self.node.broker.partitions.get("t", index)
        assert partition.last_stable_offset == partition.high_watermark, "a transaction hangs"
        fetched = partition.fetch(0, 1 << 20, at_least_one=True).records
        assert fetched is not None
        data, pending, seen = memoryview(fetched.read()), [], []
        for position, header in iter_headers(data):
            if not header.is_control:
                pending += [record.value or b"" for record in decode_batch(data, position)]
                continue
            marker = read_marker(data, position)
            assert marker is not None
            seen += pending if marker.commit else []
            pending = []
        assert pending == []
        return seen


@pytest.mark.claim("A4")
@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_killed_at_any_write_of_a_transaction_it_is_whole_or_gone(commit: bool, version: int) -> None:
    whole = Scene(commit=commit, version=version)
    whole.run()
    count = whole.disk.writes - whole.first_write
    # partitions, offsets; a batch for each; prepared, a marker for each, completed
    assert count == 2 + (PARTITIONS + 1) + 1 + (PARTITIONS + 1) + 1
    outcomes = set()
    for step in range(count + 1):
        for torn in (False, True):
            outcomes.add(_outcome(commit, version, step, torn))
    assert outcomes == ({True, False} if commit else {False})


def _outcome(commit: bool, version: int, step: int, torn: bool) -> bool:
    """Whether the second transaction is there after the death."""
    scene = Scene(commit=commit, version=version)
    scene.disk.dies_at, scene.disk.torn = scene.first_write + step, torn and step > 0
    try:
        scene.run()
    except Killed:
        assert not scene.told
    scene.restart()
    values = {tuple(scene.committed(index)) for index in range(PARTITIONS)}
    assert len(values) == 1, f"torn apart at write {step}: {values}"
    (seen,) = values
    assert seen in ((b"first",), (b"first", b"second"))
    offset = scene.producer.fetch_offset(stable=True)
    assert offset == len(seen), f"offset {offset} beside {seen} at write {step}"
    assert not scene.told or len(seen) == 1 + commit, "the producer was told otherwise"
    listed = scene.node.ask(Api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["tx"]).transaction_states[0]
    assert listed.transaction_state == "Empty"
    return len(seen) == 2
