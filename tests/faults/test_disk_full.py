"""A disk that is full, or refuses: producers are told, nothing is damaged, service returns with the space."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.storage.errors import LogDirFailure, StorageError
from penstock.testing.disk import SimDisk
from penstock.testing.process import BrokerProcess
from tests.storage.builders import append, open_log, settings, values

TOPIC = "filling"
VOLUME_MB = 24
BALLAST_MB = 8
VALUE_BYTES = 20_000
DEADLINE_SECONDS = 30.0

SETTINGS = {
    "log.segment.bytes": "1000000",
    "log.retention.check.interval.ms": "500",
    "offsets.topic.num.partitions": "1",
}


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "volume"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={VOLUME_MB}m", "penstock-test", str(path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small volume needs root and the right to mount")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


class Load:
    """Sends unique values one by one and remembers which of them were acknowledged, and where."""

    def __init__(self, servers: str, topic: str = TOPIC) -> None:
        self._topic = topic
        self.acked: dict[int, bytes] = {}
        self._sent = 0
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "acks": "all",
                "linger.ms": 0,
                "delivery.timeout.ms": 1500,
                "request.timeout.ms": 1000,
                "retry.backoff.ms": 50,
            }
        )

    def send(self) -> bool:
        """Whether one more value was acknowledged."""
        value = b"%d:" % self._sent + os.urandom(VALUE_BYTES)
        self._sent += 1
        outcome: list[bool] = []

        def delivered(error: object, message: Message) -> None:
            outcome.append(error is None)
            if error is None:
                self.acked[message.offset()] = message.value()

        self._producer.produce(self._topic, value, partition=0, on_delivery=delivered)
        assert self._producer.flush(DEADLINE_SECONDS) == 0
        return outcome[0]

    def send_until_refused(self) -> int:
        count = 0
        while self.send():
            count += 1
            assert count < VOLUME_MB * 1_000_000 / VALUE_BYTES, "the volume never fills"
        return count


def read_all(servers: str) -> dict[int, bytes]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "auditor", "enable.auto.commit": False})
    place = TopicPartition(TOPIC, 0)
    start, end = consumer.get_watermark_offsets(place, timeout=10)
    consumer.assign([TopicPartition(TOPIC, 0, start)])
    found: dict[int, bytes] = {}
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(found) < end - start and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            assert message.error() is None, message.error()
            found[message.offset()] = message.value()
    consumer.close()
    assert sorted(found) == list(range(start, end))
    return found


def delete_before(admin: AdminClient, offset: int) -> bool:
    """Whether the broker promises that records before `offset` are gone."""
    place = TopicPartition(TOPIC, 0, offset)
    try:
        admin.delete_records([place])[place].result(10)
    except KafkaException:
        return False
    return True


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "service did not return with the space"


@pytest.mark.claim("A9")
def test_a_full_volume_refuses_producers_serves_readers_and_recovers_with_space(volume: Path) -> None:
    data = volume / "data"
    ballast = volume / "ballast"
    ballast.write_bytes(bytes(BALLAST_MB * 1_000_000))
    with BrokerProcess(str(data), SETTINGS) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(10)
        load = Load(servers)
        assert load.send_until_refused() > 100
        assert read_all(servers) == load.acked
        for _ in range(2):  # 1.5 seconds each: housekeeping, twice a second, meets the full disk as well
            assert not load.send(), "there is still no space"
        assert read_all(servers) == load.acked
        late = Load(servers, "late")
        admin.create_topics([NewTopic("late", 1)])["late"].result(10)
        assert not late.send(), "a topic may be made, but there is no space for its log"

        ballast.unlink()
        wait_for(load.send)
        wait_for(late.send)
        assert read_all(servers) == load.acked

        load.send_until_refused()
        middle = sorted(load.acked)[len(load.acked) // 2]
        delete_before(admin, middle)  # may be refused: where the log begins cannot be written down yet
        wait_for(load.send)
        wait_for(lambda: delete_before(admin, middle))
        kept = {offset: value for offset, value in load.acked.items() if offset >= middle}
        assert read_all(servers) == kept

        broker.kill()
        broker.start()
        assert read_all(servers) == kept
        assert load.send()


# The same in the simulator, where each single write and sync can be made to fail.


@pytest.mark.claim("A9")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_an_append_that_finds_no_space_leaves_the_log_as_it_was(number: int) -> None:
    disk = SimDisk(Random(1))
    log = open_log(disk, settings=settings(segment_bytes=300))
    append(log, b"a" * 100)
    for path in (".log", ".index", ".snapshot", "leader-epoch"):
        disk.fail_next("write", OSError(number, "full"), path)
        with pytest.raises(KafkaError) as caught:
            # A batch that does not fit any more, of another epoch: it rolls, and writes every kind of file.
            append(log, b"b" * 200, leader_epoch=log.epochs.latest + 1)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert log.directory.failure is None
        assert values(log) == [b"a" * 100]
    append(log, b"b" * 200, leader_epoch=log.epochs.latest + 1)
    disk.kill()
    assert values(open_log(disk, settings=settings(segment_bytes=300))) == [b"a" * 100, b"b" * 200]


@pytest.mark.claim("A9")
@pytest.mark.parametrize("operation", ["write", "sync"])
def test_nothing_is_acknowledged_after_the_disk_has_failed(operation: str) -> None:
    disk = SimDisk(Random(1))
    log = open_log(disk, settings=settings(flush_messages=1))
    append(log, b"a")
    disk.fail_next(operation, OSError(errno.EIO, "broken"), ".log")
    with pytest.raises(StorageError):
        append(log, b"b")
    for _ in range(3):
        with pytest.raises(LogDirFailure):
            append(log, b"c")
    if operation == "sync":
        with pytest.raises(LogDirFailure):  # a second one would succeed, for data that never got there
            log.flush()
    disk.crash()
    assert values(open_log(disk))[:1] == [b"a"]


@pytest.mark.claim("A9")
def test_a_sync_that_finds_no_space_is_a_failed_sync() -> None:
    """Blocks are allocated late: what was acknowledged before may be lost, so nobody goes on as if nothing
    were."""
    disk = SimDisk(Random(1))
    log = open_log(disk, settings=settings(flush_messages=1))
    disk.fail_next("sync", OSError(errno.ENOSPC, "full"), ".log")
    with pytest.raises((StorageError, KafkaError)):
        append(log, b"a")
    with pytest.raises(LogDirFailure):
        append(log, b"b")
