"""The status of connectors and tasks: kept in memory, and written to the status topic by one thread."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from penstock.client.errors import ClientError
from penstock.clock import SystemClock
from penstock.connect.worker import layout
from penstock.connect.worker.layout import Entry
from penstock.connect.worker.state import Statuses

_log = logging.getLogger(__name__)
_END: Final = None

Write = Callable[[Sequence[Entry]], None]


class StatusBook:
    """Implements `runs.Reports`, besides task configurations. Any thread may call it."""

    def __init__(self, worker_id: str, version_of: Callable[[str], str], write: Write | None) -> None:
        """`write` is None for a worker that keeps no status topic."""
        self._worker_id = worker_id
        self._version_of = version_of
        self._write = write
        self._lock = threading.Lock()
        self._known = Statuses()
        self.generation = 0
        self._pending: queue.Queue[list[Entry] | None] = queue.Queue()
        if write is not None:
            threading.Thread(target=self._written, name="statuses", daemon=True).start()

    def load(self, known: Statuses) -> None:
        with self._lock:
            self._known = known

    def connector(self, name: str, state: str, trace: str | None = None) -> None:
        status = self._status(name, state, trace)
        with self._lock:
            self._known.connectors[name] = status
        self._put([layout.connector_status(name, status)])

    def task(self, name: str, number: int, state: str, trace: str | None = None) -> None:
        status = self._status(name, state, trace)
        with self._lock:
            self._known.tasks.setdefault(name, {})[number] = status
        self._put([layout.task_status(name, number, status)])

    def topics(self, name: str, used: Mapping[str, int]) -> None:
        now_ms = SystemClock().now_ms()
        with self._lock:
            known = self._known.topics.setdefault(name, {})
            new = {topic: number for topic, number in used.items() if topic not in known}
            known.update(new)
        self._put([layout.topic_status(name, topic, number, now_ms) for topic, number in new.items()])

    def used_topics(self, name: str) -> list[str]:
        with self._lock:
            return sorted(self._known.topics.get(name, {}))

    def reset_topics(self, name: str) -> None:
        with self._lock:
            known = self._known.topics.pop(name, {})
        self._put([layout.topic_status(name, topic, 0, None) for topic in known])

    def only_tasks(self, name: str, count: int) -> None:
        """The connector has so many tasks now: others are forgotten."""
        with self._lock:
            known = self._known.tasks.get(name, {})
            gone = [number for number in known if number >= count]
            for number in gone:
                del known[number]
        self._put([layout.task_status(name, number, None) for number in gone])

    def forget(self, name: str) -> None:
        self.only_tasks(name, 0)
        self.reset_topics(name)
        with self._lock:
            self._known.forget(name)
        self._put([layout.connector_status(name, None)])

    def connector_state(self, name: str) -> str | None:
        with self._lock:
            found = self._known.connectors.get(name)
        return None if found is None else str(found["state"])

    def task_states(self, name: str) -> dict[int, str]:
        with self._lock:
            return {number: str(told["state"]) for number, told in self._known.tasks.get(name, {}).items()}

    def shown(self, name: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """The connector and its tasks as the REST API shows them."""
        with self._lock:
            found = self._known.connectors.get(name)
            tasks = sorted(self._known.tasks.get(name, {}).items())
            connector = None if found is None else _shown(found)
            return connector, [{"id": number, **_shown(told)} for number, told in tasks]

    def end(self) -> None:
        self._pending.put(_END)

    def _status(self, name: str, state: str, trace: str | None) -> dict[str, Any]:
        return {
            "state": state,
            "trace": trace,
            "worker_id": self._worker_id,
            "generation": self.generation,
            "version": self._version_of(name),
        }

    def _put(self, entries: list[Entry]) -> None:
        if entries and self._write is not None:
            self._pending.put(entries)

    def _written(self) -> None:
        assert self._write is not None
        while (entries := self._pending.get()) is not None:
            try:
                self._write(entries)
            except ClientError as error:  # what is shown is right; the topic is so again with the next change
                _log.warning("the status topic could not be written: %s", error)


def _shown(status: Mapping[str, Any]) -> dict[str, Any]:
    fields = ("state", "worker_id", "version", "trace")
    return {name: status[name] for name in fields if status.get(name) is not None}
