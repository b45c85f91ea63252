"""Histories are written down whole, from any thread, and come back from their file as they were."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.testing.history import Recorder, check
from penstock.testing.history.events import Acked, CommittedOffset, Kind, Partition, Send, Value
from penstock.testing.history.json_lines import line_of, read_history
from penstock.testing.history.recorder import RecorderFull
from tests.testing.history.perfect_model import Play

PLACE = Partition("t", 0)


def test_values_come_back_from_their_bytes_and_nothing_else_does() -> None:
    value = Value("a", 3, 14)
    assert Value.parse(value.encode()) == value
    for strange in (b"", b"a/3", b"a/3/14/15", b"a/x/1", b"a/03/14", b"\xff"):
        assert Value.parse(strange) == strange
    assert Value.parse(None) == b""


def test_threads_write_one_history() -> None:
    recorder = Recorder()

    def client(name: str) -> None:
        for seq in range(200):
            operation = recorder.invoke(name, Send(PLACE, Value(name, 0, seq)))
            recorder.ok(operation, Acked(None))

    threads = [threading.Thread(target=client, args=(f"c{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    events = recorder.history().events
    assert len(events) == 4 * 200 * 2
    assert [event.time for event in events] == sorted(event.time for event in events)
    begun = {event.operation: event.client for event in events if event.kind is Kind.INVOKE}
    assert all(begun[event.operation] == event.client for event in events)


def test_an_operation_ends_once() -> None:
    recorder = Recorder()
    operation = recorder.invoke("a", Send(PLACE, Value("a", 0, 0)))
    recorder.info(operation, "timed out")
    with pytest.raises(ValueError, match="not under way"):
        recorder.ok(operation, Acked(0))


def test_a_full_recorder_refuses_rather_than_forget() -> None:
    recorder = Recorder(most_events=1)
    recorder.invoke("a", Send(PLACE, Value("a", 0, 0)))
    with pytest.raises(RecorderFull):
        recorder.invoke("a", Send(PLACE, Value("a", 0, 1)))


def test_a_history_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    recorder = Recorder(str(path))
    recorder.ok(recorder.invoke("a", Send(PLACE, Value("a", 0, 0), key=b"\x00k")), Acked(0))
    recorder.info(recorder.invoke("a", Send(PLACE, Value("a", 0, 1))), "timed out")
    history = recorder.history(committed=[CommittedOffset("g", PLACE, 1)])
    recorder.close()
    with path.open() as lines:
        assert read_history(lines) == history


def test_a_line_that_was_cut_off_is_left_out() -> None:
    history = Play(1, clients=8).history()
    items = (*history.events, *history.finals, *history.replicas, *history.committed)
    lines = [line_of(item) for item in items]
    assert read_history([*lines, lines[-1][:-5]], total=0) == history
    assert check(read_history(lines, total=0)) == []
