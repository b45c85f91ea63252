"""The broker as a process: ready soon, small when idle, without libraries that it does not need."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.testing import Broker

FOREIGN = ("pyspark", "pyarrow", "numpy", "pandas", "confluent_kafka", "nicegui", "kio", "hypothesis")


def test_starting_the_broker_imports_nothing_foreign() -> None:
    code = f"import sys, penstock.server.main; print([name for name in {FOREIGN} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_broker_in_process_is_ready_at_once() -> None:
    with Broker():
        pass  # the first one pays for imports
    best = 10.0
    for _ in range(3):
        started = time.monotonic()
        with Broker():
            best = min(best, time.monotonic() - started)
    assert best < 0.1


@pytest.fixture
def process(tmp_path: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "penstock",
        "broker",
        "--listen",
        "127.0.0.1:0",
        "--data",
        str(tmp_path / "data"),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_broker_process_is_ready_soon_small_when_idle_and_stops_cleanly(
    process: subprocess.Popen[str],
) -> None:
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("ready 127.0.0.1:")
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident_kb = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        assert resident_kb < 60_000
    finally:
        process.terminate()
        assert process.wait(10) == 0


def test_a_broker_stops_whichever_of_its_threads_the_system_gives_the_signal(
    process: subprocess.Popen[str],
) -> None:
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("ready 127.0.0.1:")
        threads = [int(entry.name) for entry in Path(f"/proc/{process.pid}/task").iterdir()]
        assert ctypes.CDLL(None).tgkill(process.pid, max(threads), signal.SIGTERM) == 0
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
