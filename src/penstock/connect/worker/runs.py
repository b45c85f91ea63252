"""A connector that runs: one thread, which runs batch after batch until it is told otherwise.

`Run` knows what sources and sinks share: starting, pausing, tasks that fail and start again, and what is
reported. `source_run` and `sink_run` know what a batch is.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from penstock.clock import SystemClock
from penstock.connect.config import shared_settings as c
from penstock.connect.errors import RetriableError
from penstock.connect.plugins import Plugin
from penstock.connect.worker.connector_logs import logger_of
from penstock.connect.worker.offset_stores import OffsetStore
from penstock.connect.worker.secrets import redacted
from penstock.connect.worker.settings import WorkerSettings
from penstock.connect.worker.spark_jobs import SparkJobs
from penstock.connect.worker.task_states import TaskStates
from penstock.connect.worker.topics import WorkerTopics
from penstock.metrics.connect import BatchReport, TaskCounts
from penstock.wire.errors import Fenced

RUNNING: Final = "RUNNING"
FAILED: Final = "FAILED"
PAUSED: Final = "PAUSED"
ATTEMPTS: Final = 5
"""How often a batch is tried that fails for another reason than its connector."""
LONGEST_PAUSE_S: Final = 10.0


class Reports(Protocol):
    """What a run tells the herder; called from the run's thread."""

    def connector(self, name: str, state: str, trace: str | None = None) -> None: ...

    def task(self, name: str, number: int, state: str, trace: str | None = None) -> None: ...

    def tasks(self, name: str, configs: list[dict[str, str]]) -> None: ...

    def used(self, name: str, used: Mapping[str, int]) -> None: ...


@dataclass(frozen=True)
class Job:
    """What a run is given."""

    name: str
    plugin: Plugin
    config: dict[str, str]
    """With secrets in place of their variables: it is never shown or stored."""
    shown: dict[str, str]
    """As the user wrote it."""
    had_tasks: bool
    """Whether its tasks are known already."""
    generation: int
    settings: WorkerSettings
    jobs: SparkJobs
    topics: WorkerTopics
    offsets: OffsetStore
    """Of a source."""
    reports: Reports


class Run(threading.Thread):
    """Ended with `end`; `is_alive` says whether it still runs."""

    def __init__(self, job: Job) -> None:
        super().__init__(name=f"connector-{job.name}", daemon=True)
        self.job = job
        self.log = logger_of(job.name)
        self._ending = threading.Event()
        self._wake = threading.Event()
        self._paused = False
        self._restarts: set[int] = set()
        self._lock = threading.Lock()
        self.task_configs: list[dict[str, str]] = []
        self.counts: dict[int, TaskCounts] = {}
        """Of each task that has run, by its number."""
        self.starts = self.started = 0
        """Attempts to make the connector, and those that succeeded."""
        self.states = TaskStates(
            int(job.config.get(c.RESTARTS) or 0), int(job.config.get(c.RESTART_DELAY) or 10_000) / 1000
        )

    # -- called by the herder

    def end(self) -> None:
        self._ending.set()
        self._wake.set()

    def pause(self, paused: bool) -> None:
        self._paused = paused
        self._wake.set()

    def restart_tasks(self, numbers: list[int]) -> None:
        with self._lock:
            self._restarts.update(numbers)
        self._wake.set()

    # -- what a source or a sink does

    def open(self) -> list[dict[str, str]]:
        """Make the connector; the settings of its tasks."""
        raise NotImplementedError

    def step(self) -> bool:
        """One batch; whether there was anything."""
        raise NotImplementedError

    def forget(self) -> None:
        """A batch has failed: what is known of positions is read again."""

    def close(self) -> None:
        """The run ends."""

    @property
    def idle_s(self) -> float:
        return 0.2

    # -- the thread

    def run(self) -> None:
        name = self.job.name
        if self._paused and not self.job.had_tasks:
            self._await_resumed()
        if self._ending.is_set():
            return
        try:
            if self._opens():
                self._told_running(PAUSED if self._paused else RUNNING)
                self._loop()
        except Exception:  # a mistake of ours: it is shown, and a restart makes a new run
            trace = self.redacted(traceback.format_exc())
            self.log.error("connector %s has ended: %s", name, trace)
            self.job.reports.connector(name, FAILED, trace)
        finally:
            self.close()

    def _opens(self) -> bool:
        """Whether the connector could be made; it is tried again as its tasks are."""
        name, attempts = self.job.name, 0
        while not self._ending.is_set():
            self.starts += 1
            try:
                self.task_configs = self._opened()
                self.started += 1
                return True
            except Exception:  # a connector may raise anything
                trace = self.redacted(traceback.format_exc())
            self.log.error("connector %s could not start: %s", name, trace)
            self.job.reports.connector(name, FAILED, trace)
            if not self.states.allows(attempts):
                return False
            self._ending.wait(self.states.rest_s(attempts))
            attempts += 1
        return False

    def _await_resumed(self) -> None:
        """As in Kafka, a connector that was paused from the first is not asked for its tasks."""
        self.job.reports.connector(self.job.name, PAUSED)
        while self._paused and not self._ending.is_set():
            self._wake.wait(0.5)
            self._wake.clear()

    def _opened(self) -> list[dict[str, str]]:
        task_name = self.job.plugin.connector.TASK_NAME or self.job.plugin.connector.TASK.__name__
        self.job.topics.ensure_dead_letters(self.job.config)
        resolved = [{**config, "task.class": task_name} for config in self.open()]
        stored = [{**self._unresolved(config), "task.class": task_name} for config in resolved]
        self.job.reports.tasks(self.job.name, stored)
        return resolved

    def _unresolved(self, config: Mapping[str, str]) -> dict[str, str]:
        """A task's settings as they may be shown: secrets are variables again."""
        shown = {name: self.job.shown.get(name, value) for name, value in config.items()}
        return {name: value for name, value in shown.items() if not name.startswith(INJECTED)}

    def _loop(self) -> None:
        was_paused, attempts = self._paused, 0
        while not self._ending.is_set():
            self._wake.clear()
            if self._paused != was_paused:
                was_paused = self._paused
                self._told_running(PAUSED if was_paused else RUNNING)
            self._restarted()
            if was_paused or len(self.states.failures) >= len(self.task_configs):
                self._wake.wait(0.5)
                continue
            try:
                busy = self.step()
                attempts = 0
            except Fenced as error:  # another worker drives it; if none does, a restart takes it back
                self.forget()
                self._all_failed(str(error))
                continue
            except Exception as error:
                attempts += 1
                self._failed_batch(error, attempts)
                continue
            if not busy:
                self._wake.wait(self.idle_s)

    def _failed_batch(self, error: Exception, attempts: int) -> None:
        """Of another reason than the connector's own: brokers, Spark, a server that is gone for a while. It
        is tried again some times; as long as the connector itself says that it may succeed, for ever."""
        if self._ending.is_set():
            return
        said = self.redacted(str(error))
        self.log.warning("a batch of %s failed, attempt %d: %s", self.job.name, attempts, said)
        self.forget()
        if attempts >= ATTEMPTS and not isinstance(error, RetriableError):
            self._all_failed("".join(traceback.format_exception(error)))
            return
        self._ending.wait(min(LONGEST_PAUSE_S, 0.2 * 2 ** min(attempts, 10)))

    def _restarted(self) -> None:
        with self._lock:
            asked, self._restarts = self._restarts, set()
        for number in asked:
            self.states.restart(number)
        for number in {*asked, *self.states.due(SystemClock.monotonic())}:
            if number < len(self.task_configs):
                self.job.reports.task(self.job.name, number, RUNNING)

    def redacted(self, text: str) -> str:
        return redacted(text, self.job.config, self.job.shown, self.job.plugin)

    def told_logs(self, note: Note) -> None:
        """What a task has logged."""
        for level, text in note.get("logs", ()):
            self.log.log(level, "task %d: %s", note["task"], self.redacted(text))

    def told_result(self, note: Note, seconds: float) -> None:
        """Whether a task's part of a batch went well; how long the batch took."""
        counts = self.counts.setdefault(int(note["task"]), TaskCounts())
        counts.add(BatchReport.of(note), seconds, SystemClock().now_ms(), failed=bool(note["error"]))
        if note["error"]:
            self.task_failed(int(note["task"]), note["error"])
        else:
            self.states.succeed(int(note["task"]))

    def task_failed(self, number: int, trace: str) -> None:
        trace = self.redacted(trace)
        self.log.error("task %d of %s failed: %s", number, self.job.name, trace)
        self.states.fail(number, SystemClock.monotonic())
        self.job.reports.task(self.job.name, number, FAILED, trace)

    def _all_failed(self, trace: str) -> None:
        for number in range(len(self.task_configs)):
            if number not in self.states.failures:
                self.task_failed(number, trace)

    def _told_running(self, state: str) -> None:
        self.job.reports.connector(self.job.name, state)
        for number in range(len(self.task_configs)):
            if number not in self.states.failures:
                self.job.reports.task(self.job.name, number, state)

    def active(self) -> list[tuple[int, dict[str, str]]]:
        """The tasks that have not failed."""
        return [each for each in enumerate(self.task_configs) if each[0] not in self.states.failures]


INJECTED: Final = "penstock.worker."
"""What the worker adds to a connector's settings, whatever the user wrote there."""
Note = dict[str, Any]
