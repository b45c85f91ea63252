"""What `test_pipeline_killed` kills: a driver with its workers, a standalone Spark cluster.

Processes are found by a variable of their environment, so that nobody else's Spark is touched.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

import pyspark

from penstock.spark.java import find_java_home
from tests.peers.apache_kafka import QUICK_JAVA, free_port

MARK: Final = "PENSTOCK_FAULT_RUN"
START_SECONDS: Final = 180.0
_DRIVER: Final = Path(__file__).with_name("pipeline_driver.py")


class Rig:
    """Marks every process that it starts."""

    def __init__(self, log: Path) -> None:
        self._run = uuid.uuid4().hex
        self._log = log
        self._started: list[subprocess.Popen[bytes]] = []

    def environment(self) -> dict[str, str]:
        source = os.pathsep.join(path for path in sys.path if path)
        home = str(find_java_home(os.environ))
        return {
            **os.environ,
            MARK: self._run,
            "PYTHONPATH": source,
            "JAVA_HOME": home,
            "JDK_JAVA_OPTIONS": " ".join(QUICK_JAVA),  # of driver, master, workers and executors alike
        }

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self.environment(),
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def find(self, words: str) -> list[int]:
        """Processes of this run whose command line contains `words`."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pid = int(entry.name)
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                if words.encode() in command and self._run.encode() in (entry / "environ").read_bytes():
                    found.append(pid)
        return sorted(found)

    def daemons(self) -> list[int]:
        """The Python of an executor (in `local` mode, of the driver): the parent of those that run tasks."""
        return sorted(set(self.find("pyspark.daemon")) - set(self.tasks()))

    def tasks(self) -> list[int]:
        """The Python processes of single tasks; they may be waiting for the next one."""
        found = self.find("pyspark.daemon")
        return [pid for pid in found if _parent(pid) in found]

    def kill_one(self, found: Sequence[int], chooser: Random) -> bool:
        """kill -9 one of them; False when there is none at the moment."""
        if not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(chooser.choice(found), signal.SIGKILL)
        return True

    def close(self) -> None:
        for pid in self.find(""):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait(20)


def _parent(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        told = Path(f"/proc/{pid}/stat").read_text()
        return int(told.rpartition(")")[2].split()[1])  # a name may have spaces and brackets in it
    return None


class Driver:
    """Keeps a driver running, as a supervisor does: one that ended by an error is started again."""

    def __init__(self, rig: Rig, arguments: list[str], script: Path = _DRIVER) -> None:
        self._rig = rig
        self._script = script
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self) -> None:
        self._process = self._rig.start([sys.executable, str(self._script), *self._arguments])
        self.starts += 1
        said = threading.Event()

        def listen(process: subprocess.Popen[bytes]) -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(b"running"):
                    said.set()

        threading.Thread(target=listen, args=[self._process], daemon=True).start()
        end = time.monotonic() + START_SECONDS
        while not said.wait(0.1):
            if self._process.poll() is not None or time.monotonic() > end:
                return  # the broker may be away just now; `keep` starts another

    def keep(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self.start()

    def kill(self) -> None:
        """kill -9 of the driver's Python and JVM at once; Python workers notice by themselves."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(20)


@contextlib.contextmanager
def standalone(rig: Rig, work: Path, workers: int = 2) -> Iterator[str]:
    """A standalone Spark cluster with one core in each worker; its master's address."""
    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    master = f"spark://127.0.0.1:{free_port()}"
    port = master.rpartition(":")[2]
    deploy = "org.apache.spark.deploy"
    hosts = ["--host", "127.0.0.1", "--webui-port", "0"]
    rig.start([spark_class, f"{deploy}.master.Master", *hosts, "--port", port])
    for number in range(workers):
        place = ["--work-dir", str(work / f"worker-{number}"), "--cores", "1", "--memory", "1g"]
        rig.start([spark_class, f"{deploy}.worker.Worker", *hosts, *place, master])
    yield master
