"""A process that rolls segments and compacts a log in a real directory, to be killed in the middle of it.

    python -m tests.faults.storage_worker

Each line on its standard input names a directory. It forks a child, which stops itself until it is told to
continue, and says `pid N`; when the child has ended it says `ended STATUS`. The child appends in two new
leader epochs, rolls, flushes, compacts and closes; before each append it notes that it begins, afterwards
that it was acknowledged, in the file DIRECTORY.notes. Notes are made with write(2), which storage itself
never uses: killing at every other call kills at every call of storage.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from random import Random

from penstock.clock import SystemClock
from penstock.records.record import Record, encode_batch
from penstock.settings import BrokerSettings
from penstock.settings.topic import TopicSettings
from penstock.storage.cleaner import LogCleaner
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from penstock.storage.logs import Logs

TOPIC_ID = bytes(range(16))
SETTINGS = TopicSettings(
    cleanup_policy=("compact",),
    segment_bytes=1200,
    index_interval_bytes=200,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=0,
)
CALLS = ("openat", "pwrite64", "rename", "unlink", "fsync", "fdatasync", "ftruncate")
"""What storage changes files with, and how it opens them."""


def open_logs(directory: str) -> Logs:
    logs = Logs(OsDisk(), [directory], SystemClock(), random=Random(1))
    logs.open_directories()
    logs.open_logs(lambda _: SETTINGS)
    if logs.get("topic", 0) is None:
        logs.create("topic", 0, TOPIC_ID, SETTINGS)
    return logs


def append(log: Log, key: bytes, value: bytes | None, *, leader_epoch: int = 0) -> int:
    batch = encode_batch([Record(key, value, timestamp_ms=SystemClock().now_ms())])
    return log.append_produced(log.examine(memoryview(batch)), leader_epoch=leader_epoch).base_offset


def cleaner_of(logs: Logs) -> LogCleaner:
    return LogCleaner(logs, SystemClock(), Random(2), BrokerSettings)


def prepare(directory: str) -> None:
    """A log of several small segments, compacted once, with dirt behind; closed cleanly."""
    logs = open_logs(directory)
    log = logs.get("topic", 0)
    assert log is not None
    for number in range(18):
        append(log, b"once%d" % number, bytes(60))
        append(log, b"often%d" % (number % 3), b"%d" % number)
        if number % 3 == 2:
            log.roll()
    log.flush()
    cleaner_of(logs).clean_next(lambda seconds: None)
    for number in range(0, 18, 2):
        append(log, b"once%d" % number, None)
    logs.close()


def work(directory: str) -> None:
    """What the child is killed in."""
    notes = os.open(f"{directory}.notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    logs = open_logs(directory)
    log = logs.get("topic", 0)
    assert log is not None
    for number in range(8):
        os.write(notes, b"begin %d\n" % number)
        value = b"new%d" % number + bytes(110)
        offset = append(log, b"often%d" % (number % 3), value, leader_epoch=1 + number // 4)
        os.write(notes, b"acked %d %d\n" % (number, offset))
    log.roll()
    log.flush()
    cleaner = cleaner_of(logs)
    while cleaner.clean_next(lambda seconds: None):
        pass
    assert cleaner.uncleanable() == {}
    logs.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        # Once for nothing, so that the child loads no module any more.
        prepare(os.path.join(scratch, "data"))
        work(os.path.join(scratch, "data"))
    print("warm", flush=True)
    for line in sys.stdin:
        directory = line.strip()
        pid = os.fork()
        if not pid:
            os.kill(os.getpid(), signal.SIGSTOP)
            work(directory)
            os._exit(0)
        os.waitpid(pid, os.WUNTRACED)
        print(f"pid {pid}", flush=True)
        _, status = os.waitpid(pid, 0)
        print(f"ended {status}", flush=True)


def noted(directory: str) -> tuple[int, int]:
    """How many appends were begun, and how many acknowledged."""
    path = Path(f"{directory}.notes")
    lines = path.read_text().splitlines() if path.exists() else []
    return (
        sum(line.startswith("begin") for line in lines),
        sum(line.startswith("acked") for line in lines),
    )


if __name__ == "__main__":
    main()
