"""The tail of a log: what shuts it, what is taken by it alone, and what becomes of a batch that the disk
refuses."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.clock import SystemClock
from penstock.records.batch import read_header
from penstock.storage import tail as tails
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from tests.storage.builders import batch, settings

pytestmark = pytest.mark.skipif(tails.NATIVE is None, reason="there is no native tail")
SECONDS = 20.0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log.open(OsDisk(), str(tmp_path / "topic-0"), settings(), SystemClock(), clean=True)
    append_in_python(log, b"first")
    yield log
    with log.lock:
        log.close()


def append_in_python(log: Log, *values: bytes) -> None:
    with log.to_append:
        log.append_produced(log.examine(batch(*values)), leader_epoch=0)
        log.open_tail(0, -1)


def test_a_reader_leaves_the_tail_open_and_any_other_owner_shuts_it(log: Log) -> None:
    assert log.lock.is_open
    with log.to_read:
        assert log.lock.is_open
    assert log.lock.is_open
    with log.to_read, log.lock:
        pass
    assert not log.lock.is_open
    append_in_python(log, b"second")
    with pytest.raises(RuntimeError), log.to_append:
        raise RuntimeError
    assert not log.lock.is_open


def test_the_end_is_known_before_the_log_is_told(log: Log) -> None:
    assert log.lock.append(batch(b"a", b"b")) == (1, 0, False)
    assert (log.lock.ahead, log.log_end_offset, log.high_watermark) == (3, 3, 3)
    with log.to_read:
        assert log.lock.ahead == -1
        assert log.log_end_offset == 3


def test_a_tail_takes_so_many_batches_until_the_log_is_told(log: Log) -> None:
    for _ in range(tails.MOST_APPENDED):
        assert log.lock.append(batch(b"a")) is not None
    assert log.lock.append(batch(b"a")) is None
    with log.to_read:
        pass
    assert log.lock.append(batch(b"a")) is not None


def test_a_batch_of_a_transaction_is_not_taken(log: Log) -> None:
    data = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    assert log.lock.append(data) is None


def test_a_directory_that_has_failed_takes_nothing(log: Log) -> None:
    log.directory.failed.set()
    assert log.lock.append(batch(b"a")) is None


@pytest.mark.parametrize("room", [0, 40])
def test_what_the_disk_refuses_leaves_file_and_batch_as_they_were(log: Log, room: int) -> None:
    """The system refuses to let the file grow, at once or after a short write; `SIGXFSZ` is ignored by
    Python."""
    data = batch(b"a" * 100)
    before = bytes(data)
    path = Path(log._segments.active.path)
    content = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + room, hard))
    try:
        taken = log.lock.append(data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert taken is None
    assert bytes(data) == before
    assert path.read_bytes() == content
    assert log.lock.append(data) == (1, 0, False)
    assert read_header(path.read_bytes(), len(content)).base_offset == 1


def test_many_threads_get_every_offset_once_and_python_sees_all_of_them(log: Log) -> None:
    """Native appends, Python's own, readers and an owner that shuts the tail, all at once."""
    found: list[int] = []
    done = threading.Event()

    def produce() -> None:
        for _ in range(400):
            placed = log.lock.append(batch(b"v" * 20))
            if placed is not None:
                found.append(placed[0])
                continue
            with log.to_append:
                found.append(log.append_produced(log.examine(batch(b"v" * 20)), leader_epoch=0).base_offset)
                log.open_tail(0, -1)

    def disturb() -> None:
        while not done.is_set():
            with log.to_read:
                assert log.log_end_offset == log._log_end_offset
            with log.lock:
                log.flushed_at_ms = 0

    threads = [threading.Thread(target=produce) for _ in range(4)]
    other = threading.Thread(target=disturb)
    for thread in (*threads, other):
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    done.set()
    other.join(SECONDS)
    assert sorted(found) == list(range(1, 1601))
    with log.to_read:
        assert log.log_end_offset == 1601
        file = Path(log._segments.active.path).read_bytes()
    position, offset = 0, 0
    while position < len(file):
        header = read_header(file, position)
        assert header.base_offset == offset
        position, offset = position + header.size_bytes, header.next_offset
    assert offset == 1601
