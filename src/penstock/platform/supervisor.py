"""The supervisor: starts services one after the other, watches them, stops them in reverse order.

One thread decides. Children and signals put events into one queue; every wait has a deadline. A service that
ends without being asked ends the platform, with its last lines as the reason.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Final

from penstock.platform.process import Child, Event, Exited, Ready, Service, StopRequested

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServiceFailed(Exception):
    """A service did not start, died, or did not stop; the text is a sentence and the service's last lines."""


class Stopped(Exception):
    """The platform was asked to end while a service was starting."""


class Supervisor:
    """Use as a context manager: leaving it stops whatever runs."""

    def __init__(self, logs: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._children: list[Child] = []
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
        child = Child(service, self._logs, self._events)
        self._children.append(child)
        deadline = time.monotonic() + service.ready_within_s
        while True:
            event = self._next_event(deadline)
            if event is None:
                raise ServiceFailed(_with_last_lines(f"{service.name} was not ready in time", child))
            if isinstance(event, Ready) and event.child is child:
                self._say(f"{service.name} is [UP] {service.shown(event.text)}".rstrip())
                return event.text
            self._react(event, starting=child)

    def watch(self) -> None:
        """Returns when the platform is asked to end; raises when a service dies."""
        try:
            while True:
                event = self._next_event(None)
                if event is not None:
                    self._react(event, starting=None)
        except Stopped:
            return

    def _react(self, event: Event, starting: Child | None) -> None:
        if isinstance(event, StopRequested):
            raise Stopped
        if isinstance(event, Exited):
            self._children.remove(event.child)
            event.child.end_leftovers()
            name = event.child.service.name
            if event.code == 0 and event.child.service.may_finish and event.child is not starting:
                self._say(f"{name} has [FINISHED]")
                return
            raise ServiceFailed(_with_last_lines(f"{name} {_how_it_ended(event.code)}", event.child))

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
        while self._children:
            child = self._children.pop()
            if not self._stop(child):
                stubborn.append(child.service.name)
            self._say(f"{child.service.name} is [DOWN]")
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
                if event.child is child:
                    child.end_leftovers()
                    return True
                # Another one died meanwhile; it needs no stopping any more.
                self._children = [other for other in self._children if other is not event.child]
                event.child.end_leftovers()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._events.put(StopRequested())


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
