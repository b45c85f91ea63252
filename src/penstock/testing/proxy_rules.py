"""What the proxy does to single frames. A rule chooses frames by API, direction, number and content, and is
also the test's handle: it knows what it has caught, and lets go of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from penstock.protocol.apis import Api
from penstock.testing.proxy_addresses import fields_of, with_fields
from penstock.testing.proxy_frames import Frame, Way

MOST_CAUGHT: Final = 1000
"""Frames that a rule remembers or holds; a rule that would hold more cuts the connection."""
STALL_SECONDS: Final = 60.0
"""A line that is stalled for longer goes on by itself: no test waits for ever."""

Where = Callable[[Frame], bool]
Alter = Callable[[dict[str, Any]], object]


class Line(Protocol):
    """One direction of one connection."""

    def send(self, frame: Frame) -> None:
        """Pass the frame on; does nothing when the connection is gone."""

    def keep_open(self, delta: int) -> None:
        """Frames are held for this line: its far end stays open even if its near end goes."""

    def cut(self) -> None:
        """Close the connection at both ends."""


class Rule:
    """Passes frames on, having looked at them; other rules do worse."""

    def __init__(self, api: Api | None, way: Way | None, nth: int, times: int | None, where: Where) -> None:
        self._api = api
        self._way = way
        self._first = nth
        self._end = None if times is None else nth + times
        self._where = where
        self._matched = 0
        self._changed = threading.Condition()
        self.caught: deque[Frame] = deque(maxlen=MOST_CAUGHT)

    def takes(self, frame: Frame) -> bool:
        """Whether this frame is among those that the rule is for. Frames that match are counted from 1."""
        if self._api not in (None, frame.api) or self._way not in (None, frame.way):
            return False
        with self._changed:
            if not self._where(frame):
                return False
            self._matched += 1
            if self._matched < self._first or (self._end is not None and self._matched >= self._end):
                return False
            self.caught.append(frame)
            self._changed.notify_all()
        return True

    def act(self, frame: Frame, line: Line) -> None:
        line.send(frame)

    def wait(self, count: int = 1, *, seconds: float) -> Frame:
        """Until so many frames were caught; gives the last. TimeoutError when they do not come."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.caught) >= count, seconds):
                raise TimeoutError(f"{len(self.caught)} frames were caught in {seconds} s, not {count}")
            return self.caught[count - 1]

    def release(self) -> None:
        """Let go of what is held; later frames pass."""


class Drop(Rule):
    def act(self, frame: Frame, line: Line) -> None:
        """The frame is gone; the connection stays."""


class Cut(Rule):
    def act(self, frame: Frame, line: Line) -> None:
        """The frame is gone, and the connection with it."""
        line.cut()


class Change(Rule):
    """Answers whose fields `change` alters in place."""

    def __init__(self, api: Api, nth: int, times: int | None, where: Where, change: Alter) -> None:
        super().__init__(api, Way.TO_CLIENT, nth, times, where)
        self._change = change

    def act(self, frame: Frame, line: Line) -> None:
        fields = fields_of(frame)
        self._change(fields)
        line.send(with_fields(frame, fields))


class Hold(Rule):
    """Frames wait until `release`. Those behind them overtake, or wait as well when the line is stalled."""

    def __init__(
        self,
        api: Api | None,
        way: Way | None,
        nth: int,
        times: int | None,
        where: Where,
        *,
        stall: bool = False,
        seconds: float | None = None,
    ) -> None:
        super().__init__(api, way, nth, times, where)
        self._stall = stall
        self._seconds = seconds
        self._released = threading.Event()
        self._held: deque[tuple[Frame, Line]] = deque()

    def act(self, frame: Frame, line: Line) -> None:
        if self._released.is_set():
            line.send(frame)
        elif self._stall:
            self._released.wait(STALL_SECONDS if self._seconds is None else self._seconds)
            line.send(frame)
        else:
            self._keep(frame, line)

    def _keep(self, frame: Frame, line: Line) -> None:
        with self._changed:
            if len(self._held) >= MOST_CAUGHT:
                line.cut()
                return
            line.keep_open(+1)
            self._held.append((frame, line))
        if self._seconds is not None:
            timer = threading.Timer(self._seconds, self._let_go_of_one)
            timer.daemon = True
            timer.start()

    def release(self) -> None:
        self._released.set()
        while self._let_go_of_one():
            pass

    def _let_go_of_one(self) -> bool:
        with self._changed:
            if not self._held:
                return False
            frame, line = self._held.popleft()
        line.send(frame)
        line.keep_open(-1)
        return True


class Swap(Rule):
    """Two frames, one behind the other, change places."""

    def __init__(self, api: Api | None, way: Way | None, nth: int, where: Where) -> None:
        super().__init__(api, way, nth, 2, where)
        self._first_frame: tuple[Frame, Line] | None = None

    def act(self, frame: Frame, line: Line) -> None:
        with self._changed:
            first, self._first_frame = self._first_frame, None
            if first is None:
                line.keep_open(+1)
                self._first_frame = (frame, line)
                return
        line.send(frame)
        self._send_first(first)

    def release(self) -> None:
        """The second did not come: send the first."""
        with self._changed:
            first, self._first_frame = self._first_frame, None
        if first is not None:
            self._send_first(first)

    def _send_first(self, first: tuple[Frame, Line]) -> None:
        frame, line = first
        line.send(frame)
        line.keep_open(-1)
