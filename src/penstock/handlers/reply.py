"""What a handler returns: an answer now, or what to wait for and how to go on. Only the shell of a connection
waits (`server.connections.connection`, and the simulator's)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from penstock.replication.waiters import Waiter
from penstock.storage.slice import FileSlice

Part = bytes | FileSlice


class Reply(NamedTuple):
    """The body of a response, in the order in which it is sent. A slice goes from file to socket without
    passing through us."""

    parts: Sequence[Part]
    throttle_ms: int = 0  # how long nothing more is read from the client, because it has used up a quota


class NoReply(NamedTuple):
    """The client does not listen (acks=0)."""

    throttle_ms: int = 0


class HangUp(Exception):
    """Close the connection: the only way to tell a client that does not listen that something is wrong."""


class Watched(Protocol):
    """Something that a request waits for: a promise, or partitions as the request last saw them.

    Invariant: no change is missed. A change since the handler looked wakes the waiter, also when it came
    before `watch` was called.
    """

    def watch(self, waiter: Waiter) -> None:
        """Wake `waiter` at the next change, or at once if it has come already."""
        ...

    def unwatch(self, waiter: Waiter) -> None: ...


GoOn = Callable[[bool], "Reply | Wait"]
"""How a request goes on. It is called with whether the deadline has come."""


class Wait:
    """The answer is not ready. The shell watches everything in `watched`, sleeps until something wakes it or
    the deadline comes, and calls `resume` once.

    A `Wait` is used up by `resume`: going on may write to a log, and must not happen twice. What `resume`
    returns takes its place, and may be another `Wait`: for the same things because nothing that matters has
    changed, or for other things because the request has come to its next step.
    """

    __slots__ = ("_go_on", "deadline", "gives_way", "watched")

    watched: Sequence[Watched]
    deadline: float
    """In seconds of the monotonic clock."""
    gives_way: bool
    """Whether producers go first: a later answer holds more records."""

    def __init__(
        self, watched: Sequence[Watched], deadline: float, go_on: GoOn, gives_way: bool = False
    ) -> None:
        self.watched = watched
        self.deadline = deadline
        self.gives_way = gives_way
        self._go_on: GoOn | None = go_on

    def resume(self, expired: bool) -> Reply | Wait:
        """Go on, because something has changed or, if `expired`, because the deadline has come. An expired
        step never waits for the same things again."""
        go_on, self._go_on = self._go_on, None
        assert go_on is not None, "this Wait was resumed before: what it returned has taken its place"
        return go_on(expired)

    def wrapped_by(self, go_on: GoOn) -> Wait:
        """A wait for the same things that goes on by `go_on`, which resumes this one."""
        return Wait(self.watched, self.deadline, go_on, self.gives_way)


Outcome = Reply | NoReply | Wait
