"""Batches of tasks without broker and Spark: records, offsets, and what becomes of records that fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.guards import ALLOWED_PATHS
from penstock.connect.api.test_kit import run_sink
from penstock.connect.config.validation import Defaults
from penstock.connect.connectors.file_stream.sink import FileStreamSink, FileStreamSinkTask
from penstock.connect.errors import DataError, RetriableError
from penstock.connect.pipeline.rows import PlainRows, Row
from penstock.connect.pipeline.sink_work import SinkBatch
from penstock.connect.pipeline.source_work import SourceBatch
from penstock.connect.pipeline.tolerance import RecordFailed, Stage, Tolerance
from penstock.metrics.connect import BatchReport
from penstock.protocol.topic_partition import TopicPartition

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
TEXTS = Defaults(STRING, STRING, SIMPLE)
PLACE = TopicPartition("t", 0)


def source(
    tmp_path: Path, content: str | bytes, defaults: Defaults = TEXTS, offsets: Any = (), **more: str
) -> list[Any]:
    file = tmp_path / "in.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    config = {"file": str(file), "topic": "t", ALLOWED_PATHS: str(tmp_path), **more}
    batch = SourceBatch("src", "FileStreamSource", "", ((0, config),), offsets, "offsets", defaults)
    return [_plain(each) for each in batch.rows(0)]


def _plain(each: Any) -> Any:
    """The quick form as rows."""
    return (
        [Row(each.topic, None, None, value) for value in each.values] if isinstance(each, PlainRows) else each
    )


@pytest.mark.parametrize(
    "content", ["a\nb\r\n\nd", "", "x", "\n", "ö\n\u2028z\n", b"bad \xff\nc\n", "a\rb\r\r\n"]
)
def test_the_quick_way_of_a_source_gives_the_same_rows_and_offsets(
    tmp_path: Path, content: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = content if isinstance(content, bytes) else content.encode()
    quick = source(tmp_path, text)
    task = "penstock.connect.connectors.file_stream.source.FileStreamSourceTask"
    monkeypatch.setattr(f"{task}.poll_text", lambda _: None)
    assert source(tmp_path, text) == quick


def counts(**given: int) -> dict[str, int]:
    return asdict(BatchReport(**given))


@pytest.mark.parametrize("quick", [True, False])
def test_lines_end_as_they_do_for_kafka(tmp_path: Path, quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a carriage return alone, once it is known that no line feed follows."""
    if not quick:
        task = "penstock.connect.connectors.file_stream.source.FileStreamSourceTask"
        monkeypatch.setattr(f"{task}.poll_text", lambda _: None)
    for content, values, position in (
        ("a\rb\r\nc\n\r\nd\r", ["a", "b", "c", ""], 9),
        ("old\rmac\rx", ["old", "mac"], 8),
        ("x" * (3 << 20) + "\ny", ["x" * (3 << 20)], (3 << 20) + 1),
    ):
        *rows, note = source(tmp_path, content)
        assert [row.value.decode() for row in rows[0]] == values
        assert json.loads(note)["offsets"][0][1] == {"position": position}


def test_a_source_emits_records_then_the_offset_they_lead_to(tmp_path: Path) -> None:
    *rows, note = source(tmp_path, "one\ntwo\nunfinished")
    path = str(tmp_path / "in.txt")
    assert [[row.value for row in part] for part in rows] == [[b"one", b"two"], [b'{"position":8}']]
    assert rows[1][0].topic == "offsets"
    assert json.loads(rows[1][0].key) == ["src", {"filename": path}]
    assert json.loads(note) == {
        "task": 0, "counts": counts(taken=2, done=2), "topics": ["t"], "error": None,
        "retry": None, "logs": [],
        "offsets": [[{"filename": path}, {"position": 8}]],
    }  # fmt: skip


def test_a_source_goes_on_where_the_offset_says(tmp_path: Path) -> None:
    where = ({"filename": str(tmp_path / "in.txt")}, {"position": 4})
    rows = source(tmp_path, "one\ntwo\n", offsets=(where,))
    assert [row.value for row in rows[0]] == [b"two"]


def test_a_server_that_is_gone_for_a_moment_gives_the_batch_up_and_fails_no_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_task: Any) -> Any:
        raise RetriableError("not now")

    task = "penstock.connect.connectors.file_stream.source.FileStreamSourceTask"
    for way in ("poll", "poll_text"):
        monkeypatch.setattr(f"{task}.{way}", gone)
    [note] = source(tmp_path, "one\n")
    told = json.loads(note)
    assert (told["retry"], told["error"], told["offsets"]) == ("not now", None, [])


def test_a_bad_record_fails_its_task_and_what_came_before_is_kept(tmp_path: Path) -> None:
    casting = {"transforms": "c", "transforms.c.type": "Cast$Value", "transforms.c.spec": "int32"}
    *rows, note = source(tmp_path, "1\n2\nthree\n4\n", **casting)
    assert [row.value for row in rows[0]] == [b"1", b"2"]
    assert rows[1][0].value == b'{"position":4}'
    assert "TRANSFORMATION" in json.loads(note)["error"]


def test_a_tolerated_record_of_a_source_becomes_a_dead_letter(tmp_path: Path) -> None:
    casting = {"transforms": "c", "transforms.c.type": "Cast$Value", "transforms.c.spec": "int32"}
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead",
                "errors.deadletterqueue.context.headers.enable": "true"}  # fmt: skip
    *rows, note = source(tmp_path, "1\nthree\n4\n", **casting, **tolerant)
    assert [(row.topic, row.value) for row in rows[0]] == [("t", b"1"), ("dead", b"three"), ("t", b"4")]
    headers = dict(rows[0][1].headers)
    assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
    assert headers["__connect.errors.connector.name"] == b"src"
    assert rows[1][0].value == b'{"position":10}'
    assert json.loads(note)["error"] is None


def sink(
    tmp_path: Path, rows: list[Row], defaults: Defaults = TEXTS, **more: str
) -> tuple[dict[str, Any], list[Row]]:
    config = {"file": str(tmp_path / "out.txt"), "topics": "t", ALLOWED_PATHS: str(tmp_path), **more}
    batch = SinkBatch("snk", "FileStreamSink", "", ((0, config, {PLACE: (0, len(rows))}),), defaults)
    dead: list[Row] = []

    def read(_place: TopicPartition, start: int, end: int) -> Iterator[Row]:
        return iter(rows[start:end])

    return json.loads(batch.run(0, read, dead.extend)), dead


def rows_of(*values: bytes) -> list[Row]:
    return [Row("t", 0, None, value, (), 0, offset) for offset, value in enumerate(values)]


def test_a_sink_writes_each_record_once_although_its_batch_comes_again(tmp_path: Path) -> None:
    told, _ = sink(tmp_path, rows_of(b"a", b"b"))
    assert told.pop("counts") == counts(taken=2, done=2)
    assert told == {"task": 0, "ends": [["t", 0, 2]], "error": None, "logs": []}
    (tmp_path / "out.txt").open("a").write("half of a batch that died")
    told, _ = sink(tmp_path, rows_of(b"a", b"b", b"c"))
    assert told["counts"] == counts(taken=1, done=1)
    assert (tmp_path / "out.txt").read_text() == "a\nb\nc\n"


def test_lines_of_a_first_batch_that_died_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("the user's own\n")

    def dies(_place: TopicPartition, start: int, end: int) -> Iterator[Row]:
        yield from rows_of(b"a", b"b")[start:end]
        raise KeyboardInterrupt

    config = {"file": str(tmp_path / "out.txt"), "topics": "t", ALLOWED_PATHS: str(tmp_path)}
    batch = SinkBatch("snk", "FileStreamSink", "", ((0, config, {PLACE: (0, 2)}),), TEXTS)
    with pytest.raises(KeyboardInterrupt):
        batch.run(0, dies, lambda _: None)
    (tmp_path / "out.txt").open("a").write("a\n")
    sink(tmp_path, rows_of(b"a", b"b"))
    assert (tmp_path / "out.txt").read_text() == "the user's own\na\nb\n"


def test_a_record_that_cannot_be_converted_fails_the_task_of_a_sink(tmp_path: Path) -> None:
    told, dead = sink(tmp_path, rows_of(b"{", b"1"), Defaults(STRING, JSON, SIMPLE))
    assert "VALUE_CONVERTER" in told["error"]
    assert (told["ends"], dead) == ([], [])


def test_a_tolerated_record_of_a_sink_becomes_a_dead_letter_with_kafkas_headers(tmp_path: Path) -> None:
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead",
                "errors.deadletterqueue.context.headers.enable": "true"}  # fmt: skip
    plain = Defaults(STRING, JSON, SIMPLE, {"value.converter.schemas.enable": "false"})
    told, dead = sink(tmp_path, rows_of(b"{", b"1"), plain, **tolerant)
    assert told["error"] is None
    assert (tmp_path / "out.txt").read_text() == "1\n"
    [letter] = dead
    headers = {name.removeprefix("__connect.errors."): value for name, value in letter.headers}
    assert (letter.topic, letter.value) == ("dead", b"{")
    assert {"stacktrace" in name or bool(value) for name, value in headers.items()} == {True}
    assert headers["topic"] == b"t"
    assert headers["offset"] == b"0"
    assert headers["class.name"] == JSON.encode()
    assert headers["exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"


def test_a_record_that_the_target_refuses_becomes_a_dead_letter_or_fails_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(task: FileStreamSinkTask, records: list[ConnectRecord]) -> None:
        task.reject(records[1], DataError("not this one"))

    monkeypatch.setattr(FileStreamSinkTask, "put", put)
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead"}
    told, dead = sink(tmp_path, rows_of(b"a", b"b"), **tolerant)
    assert (told["error"], [each.value for each in dead]) == (None, [b"b"])
    told, dead = sink(tmp_path, rows_of(b"a", b"b", b"c", b"d"))
    assert "not this one" in told["error"]
    assert (told["ends"], dead) == ([], [])


def test_two_sinks_that_write_one_file_keep_their_own_offsets(tmp_path: Path) -> None:
    """As in Kafka, each writes all that it reads."""
    for name, records in (("a", 2), ("b", 2), ("a", 3)):
        config = {"file": str(tmp_path / "out"), ALLOWED_PATHS: str(tmp_path), "name": name}
        texts = [f"{name}{number}" for number in range(records)]
        run_sink(FileStreamSink, config, [ConnectRecord("t", 0, value=text, offset=number)
                                          for number, text in enumerate(texts)])  # fmt: skip
    assert (tmp_path / "out").read_text().split() == ["a0", "a1", "b0", "b1", "a2"]


def test_a_note_of_a_file_that_names_no_connector_still_counts(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before\n")
    (tmp_path / "out.offsets").write_text('{"length": 7, "offsets": {"t-0": 1}}')
    config = {"file": str(tmp_path / "out"), ALLOWED_PATHS: str(tmp_path), "name": "a"}
    for _ in range(2):
        run_sink(FileStreamSink, config, [ConnectRecord("t", 0, value=str(n), offset=n) for n in range(3)])
    assert (tmp_path / "out").read_text().split() == ["before", "1", "2"]


def test_a_passing_error_is_tried_again_until_the_timeout() -> None:
    tolerance = Tolerance.of({"errors.retry.timeout": "2000"})
    slept: list[float] = []

    def fails() -> None:
        raise RetriableError("not now")

    with pytest.raises(RecordFailed, match="not now"):
        tolerance.attempt(Stage.TASK_PUT, "x", fails, now=lambda: sum(slept), sleep=slept.append)
    assert slept == [0.3, 0.6]
