"""What a process, a connection and a partition take: `python -m benchmarks.capacity`, half a minute.

Linux only. Memory is resident memory, with the libraries that processes share counted in each.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic

COUNT: Final = 1000
SETTLE_S: Final = 3.0
SERVICES: Final = ("registry", "rest", "console", "connect", "sql")


def main() -> None:
    with tempfile.TemporaryDirectory() as data:
        broker, address = _start("broker", "--data", data)
        processes = [broker]
        try:
            _settle()
            print(f"broker, idle: {_kilobytes(broker) / 1024:.0f} MB")
            _connections(broker, address)
            _partitions(broker, address)
            for name in SERVICES:
                process, _ = _start(name, "--bootstrap-servers", address)
                processes.append(process)
                _settle()
                print(f"{name}, idle, without Spark: {_kilobytes(process) / 1024:.0f} MB")
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(60)


def _start(name: str, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "penstock", name, "--listen", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()[1]


def _settle() -> None:
    time.sleep(SETTLE_S)  # nothing says that a process has come to rest


def _kilobytes(process: subprocess.Popen[str]) -> int:
    found = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def _files(process: subprocess.Popen[str]) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def _connections(broker: subprocess.Popen[str], address: str) -> None:
    """Each asks for the versions of the broker, and stays."""
    before = _kilobytes(broker)
    host, _, port = address.rpartition(":")
    open_now = [socket.create_connection((host, int(port))) for _ in range(COUNT)]
    asked = struct.pack(">hhih", 18, 0, 1, -1)
    for each in open_now:
        each.sendall(struct.pack(">i", len(asked)) + asked)
    for each in open_now:
        assert each.recv(65536)
    print(f"a connection: {(_kilobytes(broker) - before) / COUNT:.0f} KB")
    for each in open_now:
        each.close()
    _settle()


def _partitions(broker: subprocess.Popen[str], address: str) -> None:
    before, files = _kilobytes(broker), _files(broker)
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    topics = [NewTopic(f"capacity-{number}", 100, 1) for number in range(COUNT // 100)]
    for created in admin.create_topics(topics).values():
        created.result(60)
    _settle()
    memory, opened = (_kilobytes(broker) - before) / COUNT, (_files(broker) - files) / COUNT
    print(f"an empty partition: {memory:.0f} KB, {opened:.0f} open files")


if __name__ == "__main__":
    main()
