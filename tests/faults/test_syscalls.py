"""Killed at every system call of appending, rolling, flushing, compacting and closing, a log loses nothing.

strace kills the process at the k-th call of a kind, for every k; then this process opens the directory.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.records.record import Record
from tests.faults.storage_worker import CALLS, cleaner_of, noted, open_logs, prepare
from tests.storage.builders import records

DEADLINE_SECONDS = 30
MEMORY = Path("/dev/shm")

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


class Worker:
    """The process whose children are killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.storage_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "warm"

    def run(self, directory: Path, *strace: str) -> int:
        """Let a child work on `directory` under strace; its wait status."""
        assert self._process.stdin is not None
        print(directory, file=self._process.stdin, flush=True)
        pid = int(self._line().removeprefix("pid "))
        tracer = subprocess.Popen(
            ["strace", "-p", str(pid), "-e", f"trace={','.join(CALLS)}", *strace],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert tracer.stderr is not None
        told = tracer.stderr.readline()
        if "attached" not in told:
            os.kill(pid, signal.SIGKILL)
            pytest.skip(f"strace may not attach to a process: {told.strip()}")
        os.kill(pid, signal.SIGCONT)
        tracer.communicate(timeout=DEADLINE_SECONDS)
        return int(self._line().removeprefix("ended "))

    def close(self) -> None:
        self._process.communicate(timeout=DEADLINE_SECONDS)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: a killed process loses no written page, and no sync is waited for."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        yield Path(directory)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def known(found: list[Record]) -> dict[bytes | None, bytes]:
    state: dict[bytes | None, bytes] = {}
    for record in found:
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = record.value
    return state


def check(directory: Path, before: dict[bytes | None, bytes], start: int) -> None:
    """Everything acknowledged is there, and the last value of every key."""
    begun, acked = noted(str(directory))
    logs = open_logs(str(directory))
    log = logs.get("topic", 0)
    assert log is not None
    appended = log.log_end_offset - start
    assert acked <= appended <= begun
    expected = dict(before)
    for number in range(appended):
        expected[b"often%d" % (number % 3)] = b"new%d" % number + bytes(110)
    assert known(records(log)) == expected
    leftovers = [
        name for name in os.listdir(log.path) if re.search(r"\.(cleaned|swap|deleted|tmp|unsynced)$", name)
    ]
    assert leftovers == []
    log.roll()
    log.flush()
    cleaner = cleaner_of(logs)
    while cleaner.clean_next(lambda seconds: None):
        pass
    assert cleaner.uncleanable() == {}
    assert known(records(log)) == expected
    logs.close()


@pytest.mark.claim("A4")
@pytest.mark.timeout(600)
def test_nothing_is_lost_at_any_system_call_of_roll_and_compaction(place: Path, worker: Worker) -> None:
    prepared = place / "prepared"
    prepare(str(prepared))
    logs = open_logs(str(prepared))
    log = logs.get("topic", 0)
    assert log is not None
    before, start = known(records(log)), log.log_end_offset
    logs.close()

    whole = place / "whole"
    shutil.copytree(prepared, whole)
    trace = place / "trace"
    assert worker.run(whole, "-o", str(trace)) == 0
    check(whole, before, start)
    counts = Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", trace.read_text(), re.MULTILINE))
    assert {"openat", "pwrite64", "rename", "unlink", "fsync", "fdatasync"} <= counts.keys()

    kills = 0
    for call in CALLS:
        for number in range(1, counts[call] + 1):
            directory = place / f"{call}-{number}"
            shutil.copytree(prepared, directory)
            status = worker.run(
                directory, "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}"
            )
            assert os.WIFSIGNALED(status), f"{call} {number} was not reached"
            check(directory, before, start)
            shutil.rmtree(directory)
            kills += 1
    print(f"{kills} kills: {dict(counts)}")
