"""`connect-standalone` with the files that Kafka's tutorials have."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from penstock.connect.worker import java_maps
from penstock.testing.broker import Broker
from tests.connectors.worker import Worker, eventually

pytestmark = pytest.mark.timeout(600)
SCRIPT = "from penstock.cli.kafka.connect_workers import standalone_main; standalone_main()"


def test_connectors_of_files_run_and_go_on_after_a_restart(broker: Broker, tmp_path: Path) -> None:
    source, out = tmp_path / "test.txt", tmp_path / "test.sink.txt"
    worker_file, source_file, sink_file = (
        tmp_path / each for each in ("w.properties", "a.properties", "b.json")
    )
    worker_file.write_text(
        f"bootstrap.servers={broker.bootstrap_servers}\nlisteners=http://127.0.0.1:0\n"
        "key.converter=org.apache.kafka.connect.json.JsonConverter\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\n"
        f"offset.storage.file.filename={tmp_path}/connect.offsets\noffset.flush.interval.ms=10000\n"
    )
    source_file.write_text(
        f"name=local-file-source\nconnector.class=FileStreamSource\ntasks.max=1\nfile={source}\ntopic=connect-test\n"
    )
    config = {"connector.class": "FileStreamSink", "tasks.max": 1, "file": str(out), "topics": "connect-test"}
    sink_file.write_text(json.dumps({"name": "local-file-sink", "config": config}))
    source.write_text("foo\nbar\n")
    worker = Worker(broker.bootstrap_servers, "")
    command = [sys.executable, "-c", SCRIPT, str(worker_file), str(source_file), str(sink_file)]
    worker.launch(command)
    try:
        assert sorted(worker.call("GET", "/connectors")[1]) == ["local-file-sink", "local-file-source"]
        eventually(lambda: out.exists() and out.read_text() == "foo\nbar\n", "the first lines", 120)
        kept = tmp_path / "connect.offsets"
        eventually(lambda: kept.exists() and java_maps.loads(kept.read_bytes()), "the offsets")
        [(key, value)] = java_maps.loads(kept.read_bytes()).items()
        assert json.loads(key) == ["local-file-source", {"filename": str(source)}]
        assert value == b'{"position":8}'
        assert worker.stop() == 0
        with source.open("a") as more:
            more.write("again\n")
        worker.launch(command)
        eventually(lambda: out.read_text() == "foo\nbar\nagain\n", "the line after the restart", 120)
    finally:
        worker.stop()
    assert out.read_text() == "foo\nbar\nagain\n"
