"""The thread of one connection: receive a request, let the session handle it, wait if it says so, send the
answer. One at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

from penstock.clock import Clock
from penstock.handlers.reply import HangUp, NoReply, Part, Reply, Wait
from penstock.metrics.requests import ApiRequests
from penstock.protocol.primitives import MalformedMessage
from penstock.server.connections.complaints import Complaints
from penstock.server.connections.frames import AHEAD_BYTES, FrameReceiver, FrameSender
from penstock.server.connections.memory import NoRoom, RequestMemory, Share
from penstock.server.connections.sasl import MAX_FRAME_BYTES
from penstock.server.connections.session import Session
from penstock.server.connections.transport import ConnectionLost, Transport
from penstock.server.connections.turns import Turns
from penstock.settings.log_context import CURRENT_REQUEST

_log = logging.getLogger(__name__)


class Commons(NamedTuple):
    """What the connections of a server share."""

    clock: Clock
    turns: Turns
    memory: RequestMemory
    complaints: Complaints


class Connection:
    """A client's connection. `run` is the body of its thread; `close` may be called from any other."""

    def __init__(
        self,
        transport: Transport,
        session: Session,
        commons: Commons,
        *,
        host: str,
        max_frame_bytes: int,
    ) -> None:
        self._transport = transport
        self._max_frame_bytes = max_frame_bytes
        self._session = session
        self._clock = commons.clock
        self._host = host
        self._plain = session.plain
        self._fd = transport.plain_fd
        self._share = Share(commons.memory, transport.shut)
        self._frames = FrameReceiver(transport, max_frame_bytes, self._share)
        self._answers = FrameSender(transport)
        self._turns = commons.turns
        self._complaints = commons.complaints
        self._has_turn = False
        self._changed = _Signal()
        self._closing = False

    def run(self) -> None:
        CURRENT_REQUEST.set(self._session.current)  # of this thread, which serves no other connection
        try:
            self._session.identify(self._transport.open())
            self._meet()
            while not self._is_over and (frame := self._next_frame()) is not None:
                throttle_ms = self._serve(frame)
                frame = None  # its memory is free before the next frame is waited for
                if throttle_ms:
                    self._frames.rest()
                    self._mute(throttle_ms)
            self._answers.flush()
            if self._session.has_ended and not self._closing:
                self._transport.linger()
        except ConnectionLost as lost:
            _log.debug("connection lost: %s", lost)
        except (MalformedMessage, HangUp, NoRoom) as problem:
            self._complaints.warn(self._host, problem)
            self._flush_quietly()
        except Exception:
            self._complaints.error(self._host)
        finally:
            self._end_turn()
            self._share.give_back()
            self._transport.close()

    def _meet(self) -> None:
        """Serve a client until it has proved who it is. Until then only small frames are taken."""
        if not self._session.is_stranger:
            return
        self._frames.allow(min(self._max_frame_bytes, MAX_FRAME_BYTES))
        while not self._is_over and (frame := self._next_frame()) is not None:
            self._serve(frame)
            if not self._session.is_stranger:
                break
        self._frames.allow(self._max_frame_bytes)

    @property
    def _is_over(self) -> bool:
        return self._closing or self._session.has_ended

    def _flush_quietly(self) -> None:
        """The answers to what was right before something was wrong."""
        with suppress(ConnectionLost):
            self._answers.flush()

    def close(self) -> None:
        """End the conversation: a request that waits stops waiting, and the receiving thread sees the end."""
        self._closing = True
        self._changed.set()
        self._transport.shut()

    @property
    def is_stranger(self) -> bool:
        """Whether the client has still to prove who it is."""
        return self._session.is_stranger

    def end_stranger(self, reason: str) -> None:
        """Close the connection if its client has not proved yet who it is."""
        if self.is_stranger and not self._is_over:
            self._complaints.warn(self._host, reason)
            self.close()

    def wake(self) -> None:
        """A partition that the waiting request watches has changed."""
        self._changed.set()

    def _next_frame(self) -> memoryview | None:
        """Answers leave before anything is waited for."""
        frame = self._frames.next_nowait()
        if frame is None and self._plain is not None and self._fd is not None:
            self._end_turn()
            self._frames.converse(self._fd, self._plain, self._answers.take_held())
            frame = self._frames.next_nowait()
            if frame is not None and len(frame) < AHEAD_BYTES and _is_produce(frame):
                self._has_turn = self._turns.take()
        elif frame is None and self._frames.is_between_frames:
            has_turn, self._has_turn = self._has_turn, False  # whatever happens, it is given up
            self._has_turn = self._frames.exchange(self._turns, self._answers.take_held(), has_turn)
            frame = self._frames.next_nowait()
        if frame is None:
            self._answers.flush()
            self._end_turn()
            frame = self._frames.receive()
            if frame is not None and len(frame) < AHEAD_BYTES and _is_produce(frame):
                self._has_turn = self._turns.take()
        return frame

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.give_up()

    def _serve(self, frame: memoryview) -> int:
        """Answer a request. Returns for how many milliseconds nothing more may be read from the client."""
        header, outcome, requests, weight, local_seconds = self._session.handle(frame)
        if not isinstance(outcome, NoReply):
            if isinstance(outcome, Wait):
                self._answers.flush()
                self._end_turn()
                outcome = self._settle_counted(outcome, requests, weight, local_seconds)
            parts = outcome.parts
            if weight == 0 or requests is None or len(parts) == 1:
                self._answers.send(header, parts)
            else:  # an answer of one part is mostly held back, to go with others
                self._send_timed(header, parts, requests, weight)
        if outcome.throttle_ms:
            self._answers.flush()
            self._end_turn()
        return outcome.throttle_ms

    def _mute(self, duration_ms: int) -> None:
        """Read nothing for a while: the client has used up a quota. Its next requests wait in the socket."""
        end = self._clock.monotonic() + duration_ms / 1000
        self._changed.clear()
        while not self._closing and (remaining := end - self._clock.monotonic()) > 0:
            self._changed.wait(remaining)

    def _settle_counted(
        self, wait: Wait, requests: ApiRequests | None, weight: int, local_seconds: float
    ) -> Reply:
        """How long the request waited is counted, also when the connection ends meanwhile."""
        if requests is None:
            return self._settle(wait)
        began = self._clock.monotonic()
        requests.waits += 1
        try:
            return self._settle(wait)
        finally:
            waited_s = self._clock.monotonic() - began
            requests.ended_waiting(local_seconds, waited_s, weight)
            self._session.current.took(local_seconds + waited_s, waited_s)

    def _send_timed(self, header: bytes, parts: Sequence[Part], requests: ApiRequests, weight: int) -> None:
        began = self._clock.monotonic()
        self._answers.send(header, parts)
        requests.sending.record(self._clock.monotonic() - began, weight)

    def _settle(self, outcome: Reply | Wait) -> Reply:
        while isinstance(outcome, Wait):
            outcome = self._wait(outcome)
        return outcome

    def _wait(self, wait: Wait) -> Reply | Wait:
        """Sleep until something has changed or the deadline comes, then go on, once. What comes of that may
        be another wait, which is registered anew by `_settle`: it may be for other things."""
        self._changed.clear()
        for watched in wait.watched:
            watched.watch(self)
        try:
            # `close` says that the connection closes before it wakes: one of both is seen here.
            remaining = 0.0 if self._closing else max(0.0, wait.deadline - self._clock.monotonic())
            changed = self._changed.wait(remaining)
        finally:
            for watched in wait.watched:
                watched.unwatch(self)
        if changed and wait.gives_way and not self._closing:
            return self._resume_behind(wait)
        return wait.resume(not changed or self._closing)

    def _resume_behind(self, wait: Wait) -> Reply | Wait:
        """The turn is for the look alone: others do not wait for a client that takes its answer slowly."""
        has_turn = self._turns.take_behind()
        try:
            return wait.resume(self._closing)
        finally:
            if has_turn:
                self._turns.give_up()


class _Signal:
    """An event that one thread waits for: one lock, where `threading.Event` has three. Each fetch at the end
    of a log waits here."""

    __slots__ = ("_unset",)

    def __init__(self) -> None:
        self._unset = Lock()
        self._unset.acquire()

    def set(self) -> None:
        with suppress(RuntimeError):  # it was set before
            self._unset.release()

    def clear(self) -> None:
        self._unset.acquire(blocking=False)

    def wait(self, seconds: float) -> bool:
        """Whether it was set in time; it no longer is then."""
        return self._unset.acquire(timeout=seconds)


def _is_produce(frame: memoryview) -> bool:
    """By its API key, the first two bytes; Produce is 0."""
    return len(frame) >= 2 and frame[0] == 0 and frame[1] == 0
