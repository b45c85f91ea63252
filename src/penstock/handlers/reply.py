"""What a handler gives back: an answer now, or what to wait for and how to go on. Only the connection's shell
waits."""

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
    """How a client that does not listen is told that something is wrong: its connection is closed."""


class Watched(Protocol):
    """Something that wakes a waiter once when it changes."""

    def watch(self, waiter: Waiter) -> None: ...

    def unwatch(self, waiter: Waiter) -> None: ...


class Wait(NamedTuple):
    """Not yet. Call `resume(False)` when one of `watched` has changed and `resume(True)` at the deadline,
    which always gives an answer.

    The shell registers with everything watched and then resumes once before it sleeps: a change in between is
    not missed.
    """

    watched: Sequence[Watched]
    deadline: float  # of the monotonic clock
    resume: Callable[[bool], Reply | Wait]
    gives_way: bool = False  # to whoever has something to write: a later answer holds more


Outcome = Reply | NoReply | Wait
