"""The supervisor: starts services one after the other, starts again those that die, stops them in reverse.

One thread decides. Children and signals put events into one queue; every wait has a deadline.

- A service that fails at its first start ends the platform, with its last lines as the reason: the person
  who started the platform is there to read it.
- A service that was ready and dies is started again after a delay that doubles (`restarts`), at the address
  that it had. Both are said.
- A service that dies too often is given up. The platform goes on without it, unless the service is
  `essential` as the broker is: then the platform ends.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Final

from penstock.platform.process import Child, Event, Exited, Ready, Service, StopRequested
from penstock.platform.restarts import DEATHS_MAX, WINDOW_S, Restarts

PROGRESS_S: Final = 5.0
"""While a script starts, so often a line says that it does."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServiceFailed(Exception):
    """A service did not start, was given up, or did not stop; the text is a sentence and its last lines."""


class Stopped(Exception):
    """The platform was asked to end while a service was starting."""


@dataclass(slots=True)
class _Part:
    """A service of the platform and its process, if it has one."""

    service: Service
    child: Child | None = None
    ready_text: str | None = None
    """What the ready line said, once there was one."""
    ready_by_s: float | None = None
    """When a process that is starting must be ready."""
    restart_at_s: float | None = None
    late: bool = False
    """The process was killed because it was not ready in time."""
    restarts: Restarts = field(default_factory=Restarts)


class Supervisor:
    """Use as a context manager: leaving it stops whatever runs."""

    def __init__(self, logs: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._parts: list[_Part] = []
        """In the order of their first start."""
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Supervisor:
        self._logs.mkdir(parents=True, exist_ok=True)
        for number in _SIGNALS:
            self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            stubborn = self._stop_all()
        finally:
            for number, handler in self._former.items():
                signal.signal(number, handler)
        if stubborn and kind in (None, Stopped):
            raise ServiceFailed(f"{', '.join(stubborn)} did not stop in time and had to be killed.")

    def start(self, service: Service) -> str:
        """Starts a service and waits until it is ready; returns what its ready line said."""
        part = _Part(service)
        self._parts.append(part)
        self._launch(part)
        began = time.monotonic()
        shown = began + PROGRESS_S
        while part.ready_text is None:
            if service.may_finish and time.monotonic() >= shown:
                shown = time.monotonic() + PROGRESS_S
                self._say(_progress(part, time.monotonic() - began))
            self._step(shown if service.may_finish else None)
        return part.ready_text

    def watch(self) -> None:
        """Returns when the platform is asked to end; raises when it cannot go on."""
        try:
            while True:
                self._step()
        except Stopped:
            return

    def _step(self, wake_s: float | None = None) -> None:
        """One event, or what is due; nothing at `wake_s` at the latest."""
        moments = [
            moment for part in self._parts for moment in (part.ready_by_s, part.restart_at_s) if moment
        ]
        moments += [] if wake_s is None else [wake_s]
        event = self._next_event(min(moments, default=None))
        if isinstance(event, StopRequested):
            raise Stopped
        if isinstance(event, Ready):
            self._on_ready(event)
        elif isinstance(event, Exited):
            self._on_exit(event)
        self._do_what_is_due(time.monotonic())

    def _do_what_is_due(self, now_s: float) -> None:
        for part in self._parts:
            if part.restart_at_s is not None and now_s >= part.restart_at_s:
                self._launch(part)
            elif part.ready_by_s is not None and now_s >= part.ready_by_s and part.child is not None:
                part.ready_by_s, part.late = None, True
                part.child.kill()  # its exit is the next event

    def _launch(self, part: _Part) -> None:
        service = part.service
        if part.ready_text is not None:
            service = service.at_address(part.ready_text)
        part.child = Child(service, self._logs, self._events)
        part.restart_at_s, part.late = None, False
        part.ready_by_s = time.monotonic() + service.ready_within_s

    def _on_ready(self, event: Ready) -> None:
        part = self._part_of(event.child)
        if part is None or part.late:
            return
        again = "" if part.ready_text is None else " again"
        part.ready_by_s, part.ready_text = None, event.text
        self._say(f"{part.service.name} is [UP]{again} {part.service.shown(event.text)}".rstrip())

    def _on_exit(self, event: Exited) -> None:
        part = self._part_of(event.child)
        if part is None:
            return
        name, was_ready = part.service.name, part.ready_by_s is None and not part.late
        part.child, part.ready_by_s = None, None
        event.child.end_leftovers()
        if event.code == 0 and part.service.may_finish and was_ready:
            self._say(f"{name} has [FINISHED]")
            return
        how = "was not ready in time" if part.late else _how_it_ended(event.code)
        if part.ready_text is None:
            raise ServiceFailed(_with_last_lines(f"{name} {how}", event.child))
        delay_s = part.restarts.delay_after_death(time.monotonic())
        if delay_s is not None:
            part.restart_at_s = time.monotonic() + delay_s
            self._say(f"{name} {how}. It starts again in {delay_s:g} s")
            return
        sentence = f"{name} {how}, and has died {DEATHS_MAX} times within {WINDOW_S / 60:g} minutes"
        if part.service.essential:
            raise ServiceFailed(_with_last_lines(sentence, event.child))
        self._say(f"{name} has [FAILED]. {_with_last_lines(sentence, event.child)}")
        self._say(f"The platform goes on without {name}. Mend it, and start the platform again.")

    def _part_of(self, child: Child) -> _Part | None:
        return next((part for part in self._parts if part.child is child), None)

    def _next_event(self, deadline: float | None) -> Event | None:
        """The next event, or None at the deadline."""
        if deadline is None:
            return self._events.get()
        try:
            return self._events.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            return None

    def _stop_all(self) -> list[str]:
        """Stops what runs, the last started first; returns the names of those that had to be killed."""
        stubborn = []
        for part in reversed(self._parts):
            if part.child is None:
                continue
            if not self._stop(part.child):
                stubborn.append(part.service.name)
            part.child = None
            self._say(f"{part.service.name} is [DOWN]")
        return stubborn

    def _stop(self, child: Child) -> bool:
        """False when the child had to be killed: at its deadline, or because Ctrl-C was pressed again."""
        child.ask_to_stop()
        deadline = time.monotonic() + child.service.stop_within_s
        while True:
            event = self._next_event(deadline)
            if event is None or isinstance(event, StopRequested):
                child.kill()
                child.end_leftovers()
                return False
            if isinstance(event, Exited):
                event.child.end_leftovers()
                if event.child is child:
                    return True
                if (other := self._part_of(event.child)) is not None:
                    other.child = None  # it died meanwhile, and needs no stopping any more

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._events.put(StopRequested())


def _progress(part: _Part, seconds: float) -> str:
    """A script that starts Spark takes its time: how long it has been, and what it said last."""
    lines = [] if part.child is None else part.child.output.last_lines()
    last = f": {lines[-1][:100]}" if lines else ""
    return f"{part.service.name} is [STARTING] since {seconds:.0f} s{last}"


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"has ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"


def _with_last_lines(sentence: str, child: Child) -> str:
    lines = child.output.last_lines()
    if not lines:
        return f"{sentence}, without a word. Its log is {child.output.path}."
    shown = "\n".join(f"    {line}" for line in lines)
    return f"{sentence}. The end of {child.output.path}:\n{shown}"
