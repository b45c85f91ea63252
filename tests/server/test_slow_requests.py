"""Requests that take long are logged with who asked; a wait that the client asked for does not count."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.protocol.apis import Api
from penstock.server.connections.slow_requests import LOGGER, CurrentRequest


def asked(api: Api, limit_ms: int = 1000) -> CurrentRequest:
    request = CurrentRequest("10.0.0.7", limit_ms)
    request.api, request.asked = api, (9, 41, "billing")
    return request


def test_a_slow_request_is_logged_with_client_and_correlation_id(caplog: pytest.LogCaptureFixture) -> None:
    asked(Api.PRODUCE).took(2.5, waited_s=2.0)
    asked(Api.PRODUCE).took(0.5)
    asked(Api.PRODUCE, limit_ms=0).took(60.0)
    (line,) = caplog.records
    assert (line.name, line.levelname) == (LOGGER, "WARNING")
    said = "slow request: billing@10.0.0.7 PRODUCE v9 #41 took 2500 ms, 2000 of them waiting"
    assert line.getMessage() == said


def test_a_wait_that_the_client_asked_for_does_not_count(caplog: pytest.LogCaptureFixture) -> None:
    asked(Api.FETCH).took(30.0, waited_s=29.9)
    assert not caplog.records
    asked(Api.FETCH).took(30.0, waited_s=20.0)
    assert len(caplog.records) == 1


@pytest.mark.timeout(60)
def test_a_broker_logs_slow_requests_as_json_and_debug_at_a_signal(tmp_path: Path) -> None:
    """A limit of one millisecond, and topics that are created: that waits for the disk."""
    command = [sys.executable, "-m", "penstock", "broker", "--listen", "127.0.0.1:0", "--data", str(tmp_path)]
    command += ["--set", "slow.request.ms=1"]
    environment = {**os.environ, "PENSTOCK_LOG_FORMAT": "json"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    lines: list[str] = []
    debug = threading.Event()

    def gather() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if "the log level is DEBUG now" in line:
                debug.set()

    reader = threading.Thread(target=gather)
    reader.start()
    try:
        address = process.stdout.readline().split()[1]
        producer = Producer({"bootstrap.servers": address, "client.id": "slow-one"})
        producer.produce("t", b"1")
        assert producer.flush(30) == 0
        process.send_signal(signal.SIGUSR1)
        assert debug.wait(30), lines
    finally:
        process.terminate()
        assert process.wait(30) == 0
        reader.join()
    told = [json.loads(line) for line in lines]
    slow = [line for line in told if line["logger"] == LOGGER]
    assert slow
    assert all(re.fullmatch(r"slow-one@127\.0\.0\.1 [A-Z_]+ v\d+ #\d+", line["request"]) for line in slow), (
        slow
    )
    assert logging.getLevelName(logging.WARNING) == slow[0]["level"]
