"""Lines of files through a worker: topics, offsets and files as Kafka's connectors make them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.testing.broker import Broker
from tests.connectors.worker import Worker, eventually
from tests.peers.topic_reader import read_topic

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def values(broker: Broker, topic: str) -> list[str]:
    try:
        return [message.value().decode() for message in read_topic(broker.bootstrap_servers, topic)]
    except KeyError:  # not there yet
        return []


def test_lines_go_through_a_topic_into_a_file(worker: Worker, broker: Broker, files: Path) -> None:
    (files / "in.txt").write_text("one\ntwo\nunfinished")
    source = {"connector.class": "FileStreamSource", "file": str(files / "in.txt"), "topic": "lines"}
    worker.create("in", {**source, "transforms": "r", "transforms.r.type": "RegexRouter",
                         "transforms.r.regex": "(.*)", "transforms.r.replacement": "shop-$1"})  # fmt: skip
    worker.create("out", {"connector.class": SINK, "topics": "shop-lines", "file": str(files / "out.txt")})
    worker.await_state("in", "RUNNING")
    eventually(
        lambda: (files / "out.txt").exists() and (files / "out.txt").read_text() == "one\ntwo\n", "out"
    )
    with (files / "in.txt").open("a") as more:
        more.write(" and done\n")
    eventually(lambda: (files / "out.txt").read_text().endswith("unfinished and done\n"), "the third line")
    for sample in (
        'kafka_connect_source_task_metrics_source_record_write_total{connector="in",task="0"} 3',
        'kafka_connect_sink_task_metrics_sink_record_send_total{connector="out",task="0"} 3',
        'kafka_connect_sink_task_metrics_partition_count{connector="out",task="0"} 1',
        'kafka_connect_connector_metrics_status{connector="in",status="running"} 1',
        'kafka_connect_connector_task_metrics_status{connector="out",task="0",status="running"} 1',
    ):
        eventually(lambda sample=sample: f"{sample}\n" in worker.text("/metrics"), sample)
    _, offsets = worker.call("GET", "/connectors/in/offsets")
    assert offsets == {
        "offsets": [{"partition": {"filename": str(files / "in.txt")}, "offset": {"position": 28}}]
    }
    _, sunk = worker.call("GET", "/connectors/out/offsets")
    assert sunk["offsets"][0]["partition"] == {"kafka_topic": "shop-lines", "kafka_partition": 0}
    assert worker.call("GET", "/connectors/in/topics")[1] == {"in": {"topics": ["shop-lines"]}}
    stored = {m.key(): m.value() for m in read_topic(broker.bootstrap_servers, "connect-offsets")}
    key = json.dumps(["in", {"filename": str(files / "in.txt")}], separators=(",", ":")).encode()
    assert stored[key] == b'{"position":28}'


def test_a_stopped_source_begins_anew_when_its_offsets_are_reset(
    worker: Worker, broker: Broker, files: Path
) -> None:
    (files / "again.txt").write_text("a\nb\n")
    worker.create("again", {"connector.class": SOURCE, "file": str(files / "again.txt"), "topic": "again"})
    eventually(lambda: values(broker, "again") == ["a", "b"], "the first time")
    assert worker.call("PUT", "/connectors/again/stop")[0] == 204
    assert worker.call("DELETE", "/connectors/again/offsets")[0] == 200
    assert worker.call("PUT", "/connectors/again/resume")[0] == 202
    eventually(lambda: values(broker, "again") == ["a", "b"] * 2, "the second time")
    assert worker.call("DELETE", "/connectors/again")[0] == 204


def test_a_bad_record_fails_its_task_and_a_restart_with_another_setting_goes_on(
    worker: Worker, broker: Broker, files: Path
) -> None:
    (files / "numbers.txt").write_text("1\n2\nthree\n4\n")
    config = {
        "connector.class": SOURCE, "file": str(files / "numbers.txt"), "topic": "numbers", "transforms": "c",
        "transforms.c.type": "Cast$Value", "transforms.c.spec": "int32",
    }  # fmt: skip
    worker.create("numbers", config)

    def failed() -> bool:
        _, told = worker.call("GET", "/connectors/numbers/status")
        return bool(told.get("tasks")) and told["tasks"][0]["state"] == "FAILED" and told["tasks"][0]["trace"]

    assert "TRANSFORMATION" in eventually(failed, "the task fails")
    assert values(broker, "numbers") == ["1", "2"]
    dead = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead-numbers",
            "errors.deadletterqueue.context.headers.enable": "true"}  # fmt: skip
    worker.create("numbers", {**config, **dead})
    worker.await_state("numbers", "RUNNING")
    eventually(lambda: values(broker, "numbers") == ["1", "2", "4"], "the rest")
    [letter] = read_topic(broker.bootstrap_servers, "dead-numbers")
    assert letter.value() == b"three"
    assert dict(letter.headers())["__connect.errors.stage"] == b"TRANSFORMATION"
    worker.call("DELETE", "/connectors/numbers")


def test_files_outside_of_what_the_worker_allows_are_refused(worker: Worker) -> None:
    for path in ("/etc/passwd", "/etc/../etc/passwd"):
        config = {"connector.class": SOURCE, "file": path, "topic": "x"}
        status, told = worker.call("PUT", "/connectors/spy/config", config)
        assert (status, "may not open" in told["message"]) == (400, True)
    injected = {"penstock.worker.allowed.paths": "/", **config}
    assert worker.call("PUT", "/connectors/spy/config", injected)[0] == 400


@pytest.mark.timeout(180)
def test_a_worker_killed_with_minus_nine_writes_every_line_once(broker: Broker, tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(60_000)]
    path, out = tmp_path / "many.txt", tmp_path / "many.out"
    path.write_text("")
    source = {"connector.class": SOURCE, "file": str(path), "topic": "many", "batch.size": "500"}
    worker = Worker(broker.bootstrap_servers, str(tmp_path), group_id="killed").start()
    try:
        worker.create("many", source)
        worker.create("sunk", {"connector.class": SINK, "topics": "many", "file": str(out)})
        for kill, end in ((worker.kill, 20_000), (worker.kill_driver_only, 40_000)):
            with path.open("a") as more:
                more.writelines(f"{line}\n" for line in lines[end - 20_000 : end])
            eventually(lambda: (out.exists() and out.stat().st_size > 0) or None, "it has begun", 90)
            kill()
            worker.start()
        with path.open("a") as more:
            more.writelines(f"{line}\n" for line in lines[40_000:])
        eventually(lambda: len(values(broker, "many")) >= len(lines), "all lines", 90)
        assert values(broker, "many") == lines
        eventually(lambda: out.stat().st_size >= path.stat().st_size, "all lines in the file", 90)
        assert out.read_text() == path.read_text()
    finally:
        worker.stop()
