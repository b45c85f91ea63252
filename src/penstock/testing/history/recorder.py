"""Writing a history down while it happens, from any thread.

Clients log `invoke` before they ask and one end afterwards. Events stay in memory, up to a bound, and go to a
file of JSON lines where one is named, so that a run which died can be judged, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO

from penstock.clock import Clock, SystemClock
from penstock.testing.history.events import (
    CommittedOffset,
    Event,
    Fact,
    FinalRead,
    History,
    Kind,
    ReplicaLog,
    Request,
    Result,
)
from penstock.testing.history.json_lines import line_of

MOST_EVENTS: Final = 5_000_000


class RecorderFull(RuntimeError):
    """More events than may be kept: judge what there is, and begin another history."""


class Recorder:
    def __init__(
        self, path: str | None = None, *, clock: Clock | None = None, most_events: int = MOST_EVENTS
    ) -> None:
        self._clock = clock or SystemClock()
        self._most_events = most_events
        self._lock = threading.Lock()
        self._began = self._clock.monotonic()
        self._events: list[Event] = []
        self._pending: dict[int, str] = {}
        self._next_operation = 0
        self._file: TextIO | None = None if path is None else Path(path).open("w")  # noqa: SIM115 (see close)

    def __len__(self) -> int:
        return len(self._events)

    def invoke(self, client: str, request: Request) -> int:
        """Before the request leaves. The number is for its end."""
        with self._lock:
            operation = self._new_operation()
            self._pending[operation] = client
            self._add(Kind.INVOKE, operation, client, request)
            return operation

    def ok(self, operation: int, result: Result) -> None:
        self._end(Kind.OK, operation, result, "")

    def fail(self, operation: int, note: str) -> None:
        """It certainly did not happen, and never will: refused at the first attempt. Anything else is
        `info`."""
        self._end(Kind.FAIL, operation, None, note)

    def info(self, operation: int, note: str) -> None:
        """Nobody knows: a timeout, a lost connection, an error after a repetition."""
        self._end(Kind.INFO, operation, None, note)

    def fact(self, client: str, fact: Fact) -> None:
        with self._lock:
            self._add(Kind.OK, self._new_operation(), client, fact)

    def history(
        self,
        finals: Iterable[FinalRead] = (),
        replicas: Iterable[ReplicaLog] = (),
        committed: Iterable[CommittedOffset] = (),
        compacted: Iterable[str] = (),
        total: int | None = None,
    ) -> History:
        """What happened so far, with what was read when all was over; the file gets the end, too."""
        with self._lock:
            history = History(
                tuple(self._events),
                tuple(finals),
                tuple(replicas),
                tuple(committed),
                frozenset(compacted),
                total,
            )
            for item in (*history.finals, *history.replicas, *history.committed):
                self._write(item)
            if self._file is not None:
                self._file.flush()
        return history

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _end(self, kind: Kind, operation: int, result: Result | None, note: str) -> None:
        with self._lock:
            client = self._pending.pop(operation, None)
            if client is None:
                raise ValueError(f"operation {operation} is not under way")
            self._add(kind, operation, client, result, note)

    def _new_operation(self) -> int:
        self._next_operation += 1
        return self._next_operation

    def _add(
        self, kind: Kind, operation: int, client: str, body: Request | Result | Fact | None, note: str = ""
    ) -> None:
        if len(self._events) >= self._most_events:
            raise RecorderFull(f"the history has {self._most_events} events, which is all it may have")
        event = Event(kind, operation, client, body, self._clock.monotonic() - self._began, note)
        self._events.append(event)
        self._write(event)

    def _write(self, item: object) -> None:
        if self._file is not None:
            self._file.write(line_of(item))
