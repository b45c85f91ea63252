"""Word count as people run it: a program with Spark in it, ended by SIGTERM; here and on a cluster. And all
examples on a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.testing import Broker
from tests.examples.cases import CASES, records
from tests.examples.loading import EXAMPLES
from tests.faults.pipeline_rig import Rig, standalone

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]

WAIT_S = 240


def test_word_count_runs_as_people_run_it(tmp_path: Path) -> None:
    with Broker() as broker:
        run_word_count(broker.bootstrap_servers, tmp_path, [])


def test_word_count_runs_unchanged_on_a_spark_cluster(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "cluster.log")
    try:
        with Broker() as broker, standalone(rig, tmp_path) as master:
            run_word_count(broker.bootstrap_servers, tmp_path, ["--master", master])
    finally:
        rig.close()


def test_every_example_runs_unchanged_on_a_spark_cluster(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "cluster.log")
    try:
        with standalone(rig, tmp_path) as master:
            command = [sys.executable, "-m", "tests.spark.examples_on_a_master", master, str(tmp_path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    finally:
        rig.close()
    assert (done.returncode, len(done.stdout.splitlines())) == (0, len(CASES)), done.stderr[-2000:]


def run_word_count(servers: str, data: Path, more: list[str]) -> None:
    """Start the program, write lines, see the counts, and end it with SIGTERM."""
    command = [sys.executable, str(EXAMPLES / "word_count.py"), "--bootstrap-servers", servers]
    command += ["--state-dir", str(data / "state"), *more]
    with (data / "stderr").open("w+") as err:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True)
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            assert said.startswith("ready"), (data / "stderr").read_text()
            producer = Producer({"bootstrap.servers": servers})
            for line in ("all streams lead to kafka", "hello kafka streams"):
                producer.produce("streams-plaintext-input", line)
            assert producer.flush(30) == 0
            await_counts(servers, {b"kafka": 2, b"hello": 1, b"lead": 1})
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            assert process.wait(60) == 0, (data / "stderr").read_text()
        finally:
            process.kill()
            process.stdout.close()


def await_counts(servers: str, wanted: dict[bytes, int]) -> None:
    pause = threading.Event()
    for _ in range(4 * WAIT_S):
        found = dict(records(servers, "streams-wordcount-output"))
        if all(found.get(word) == count.to_bytes(8, "big") for word, count in wanted.items()):
            return
        pause.wait(0.25)
    raise AssertionError(f"no such counts came: {found}")
