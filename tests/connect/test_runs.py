"""The thread of a connector, without broker and Spark: what is reported, what is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.connect.errors import RetriableError
from penstock.connect.worker.runs import Run
from penstock.connect.worker.source_run import idle_seconds
from penstock.protocol.errors import ErrorCode
from penstock.wire.errors import Fenced

AGAIN = {"penstock.restart.max": "5", "penstock.restart.delay.ms": "1"}


class Told:
    """Reports as a list of words, with one to wait for."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._more = threading.Condition()

    def add(self, word: str) -> None:
        with self._more:
            self.words.append(word)
            self._more.notify_all()

    def connector(self, _name: str, state: str, trace: str | None = None) -> None:
        self.add(f"connector {state}")

    def task(self, _name: str, number: int, state: str, trace: str | None = None) -> None:
        self.add(f"task {number} {state}")

    def tasks(self, _name: str, configs: list[dict[str, str]]) -> None:
        self.add(f"{len(configs)} tasks")

    def used(self, _name: str, used: Mapping[str, int]) -> None:
        pass

    def await_word(self, word: str, count: int = 1) -> None:
        with self._more:
            assert self._more.wait_for(lambda: self.words.count(word) >= count, 60), self.words


class Scripted(Run):
    """Does what the script says, one entry for each call; then nothing more is there."""

    def __init__(self, told: Told, script: list[Callable[[], Any]], **config: str) -> None:
        task = type("Task", (), {})
        plugin = SimpleNamespace(connector=SimpleNamespace(TASK_NAME="", TASK=task, CONFIG=None))
        job: Any = SimpleNamespace(
            name="c",
            plugin=plugin,
            config=config,
            shown=config,
            had_tasks=False,
            reports=told,
            topics=SimpleNamespace(ensure_dead_letters=lambda _config: None),
        )
        super().__init__(job)
        self._script = script
        self.forgotten = 0

    def redacted(self, text: str) -> str:
        return text

    def open(self) -> list[dict[str, str]]:
        if self._script and self._script[0].__name__ == "cannot_open":
            self._script.pop(0)()
        return [{}]

    def step(self) -> bool:
        if not self._script:
            return False
        return bool(self._script.pop(0)())

    def forget(self) -> None:
        self.forgotten += 1


def raising(error: Exception, name: str = "") -> Callable[[], Any]:
    def raises() -> Any:
        raise error

    raises.__name__ = name or "raises"
    return raises


@pytest.fixture
def run() -> Any:
    running: list[Run] = []

    def start(told: Told, script: list[Callable[[], Any]], **config: str) -> Scripted:
        made = Scripted(told, script, **config)
        running.append(made)
        made.start()
        return made

    yield start
    for each in running:
        each.end()
        each.join(60)
        assert not each.is_alive()


def test_a_connector_that_cannot_start_starts_again_by_its_policy(run: Any) -> None:
    told = Told()
    run(told, [raising(OSError("gone"), "cannot_open")] * 2, **AGAIN)
    told.await_word("task 0 RUNNING")
    expected = ["connector FAILED", "connector FAILED", "1 tasks", "connector RUNNING", "task 0 RUNNING"]
    assert told.words == expected


def test_without_a_policy_it_stays_failed(run: Any) -> None:
    told = Told()
    made = run(told, [raising(OSError("gone"), "cannot_open")])
    made.join(60)
    assert told.words == ["connector FAILED"]


def test_a_run_that_was_fenced_fails_its_tasks_and_a_restart_takes_it_back(run: Any) -> None:
    told = Told()
    made = run(told, [raising(Fenced(ErrorCode.PRODUCER_FENCED, "another")), lambda: told.add("again")])
    told.await_word("task 0 FAILED")
    made.restart_tasks([0])
    told.await_word("again")
    assert made.forgotten == 1


def test_a_server_that_is_gone_for_long_fails_no_task(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connect.worker.runs.LONGEST_PAUSE_S", 0.001)
    told = Told()
    run(told, [*[raising(RetriableError("not now"))] * 20, lambda: told.add("back")])
    told.await_word("back")
    assert "task 0 FAILED" not in told.words


def test_other_errors_fail_the_tasks_after_five_attempts(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connect.worker.runs.LONGEST_PAUSE_S", 0.001)
    told = Told()
    made = run(told, [raising(ValueError("a mistake"))] * 5)
    told.await_word("task 0 FAILED")
    assert made.forgotten == 5


def test_a_source_that_cannot_look_costs_fewer_jobs_the_longer_it_is_idle() -> None:
    assert [idle_seconds(0.5, empty) for empty in range(6)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert idle_seconds(30.0, 9) == 30.0
