"""A replayed topic on three brokers: its leader is killed with -9 while two processes write, one of which is
killed as well. Every number is given once, and nothing that was told is missing."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from penstock.testing.cluster import Cluster, Software
from tests.client.replayed_writer import LAST, replayed
from tests.faults.clusters import QUICK
from tests.faults.clusters import software as software

TOPIC = "replayed"


class Writer:
    """A process that takes numbers for ever; `given` grows as it tells them."""

    def __init__(self, bootstrap_servers: str, name: str) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.client.replayed_writer",
            bootstrap_servers,
            TOPIC,
            name,
            "999999",
        ]
        self.given: list[int] = []
        self._grown = threading.Condition()
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for_more(self, count: int = 20) -> None:
        with self._grown:
            wanted = len(self.given) + count
            assert self._grown.wait_for(lambda: len(self.given) >= wanted, 60), "no more numbers were given"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line != "ready\n" and line.endswith("\n"):
                    with self._grown:
                        self.given.append(int(line))
                        self._grown.notify_all()


@pytest.mark.timeout(600)
def test_killed_leaders_and_writers_give_no_number_twice_and_lose_none(
    tmp_path: Path, software: Software, long_form: bool
) -> None:
    given: list[int] = []
    with Cluster(tmp_path, software, settings=QUICK) as cluster:
        stays = Writer(cluster.bootstrap_servers, "stays")
        try:
            for number in range(10 if long_form else 2):
                goes = Writer(cluster.bootstrap_servers, f"goes-{number}")
                try:
                    goes.wait_for_more()
                    victim = cluster.brokers[cluster.leader_of(TOPIC, 0)]
                    victim.kill()
                    stays.wait_for_more()
                    goes.wait_for_more()
                finally:
                    goes.kill()
                given += goes.given
                stays.wait_for_more()
                victim.start()
                cluster.wait_in_sync(TOPIC)
        finally:
            stays.kill()
        given += stays.given
        with closing(replayed(cluster.bootstrap_servers, TOPIC)) as one:
            values = dict(one.view.state.values)
    assert len(given) == len(set(given))
    last = int(values[LAST])
    assert max(given) <= last
    assert {b"item-%d" % number for number in range(1, last + 1)} <= set(values)
