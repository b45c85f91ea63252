"""One client's connection through the proxy: two sockets, two threads, and frames in between."""

from __future__ import annotations

import logging
import socket
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from penstock.protocol.apis import Api
from penstock.protocol.primitives import MalformedMessage
from penstock.server.connections.frames import FrameReceiver
from penstock.server.connections.transport import ConnectionLost, PlainTransport, set_timeouts
from penstock.testing.proxy_frames import Frame, Way
from penstock.testing.proxy_rules import Line

MAX_FRAME_BYTES: Final = 128 * 1024 * 1024
IDLE_MS: Final = 600_000
MOST_UNANSWERED: Final = 10_000
"""Requests whose answers are awaited; a produce with acks=0 never gets one, so the oldest is forgotten."""

_REQUEST: Final = struct.Struct(">hhi")
_KNOWN: Final = frozenset(Api)
_log = logging.getLogger(__name__)

Handle = Callable[[Frame, Line], None]


class Link:
    """`run` starts it; it ends when either side closes, except that frames held for the broker keep that side
    open: a late frame arrives although its client has gone."""

    def __init__(
        self,
        number: int,
        client: socket.socket,
        broker: socket.socket,
        handle: Handle,
        done: Callable[[], None],
    ) -> None:
        self._number = number
        self._handle = handle
        self._done = done
        self._unanswered: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._alive = 2
        self._lines = {
            Way.TO_BROKER: _SocketLine(client, broker, self.close),
            Way.TO_CLIENT: _SocketLine(broker, client, self.close),
        }
        for sock in (client, broker):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            set_timeouts(sock, IDLE_MS)

    def start(self) -> None:
        for way in Way:
            name = f"proxy-{self._number} {way}"
            threading.Thread(target=self._pump, args=(way,), name=name, daemon=True).start()

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def _pump(self, way: Way) -> None:
        line = self._lines[way]
        frames = FrameReceiver(PlainTransport(line.source), MAX_FRAME_BYTES)
        try:
            while (payload := frames.receive()) is not None:
                self._handle(self._frame(way, bytes(payload)), line)
        except ConnectionLost as lost:
            _log.debug("connection %d lost %s: %s", self._number, way, lost)
        except MalformedMessage as problem:
            _log.error("connection %d cut: %s", self._number, problem)
            self.close()
        finally:
            line.end()
            self._finished()

    def _frame(self, way: Way, payload: bytes) -> Frame:
        if way is Way.TO_CLIENT:
            correlation_id = int.from_bytes(payload[:4], "big", signed=True)
            with self._lock:
                known = self._unanswered.pop(correlation_id, None)
            if known is None:
                raise MalformedMessage(f"an answer to number {correlation_id}, which nobody asked")
            return Frame(way, self._number, *known, correlation_id, payload)
        try:
            api_key, version, correlation_id = _REQUEST.unpack_from(payload)
        except struct.error as error:
            raise MalformedMessage(f"not a request: {error}") from None
        api = Api(api_key) if api_key in _KNOWN else api_key
        with self._lock:
            self._unanswered[correlation_id] = (api, version)
            if len(self._unanswered) > MOST_UNANSWERED:
                self._unanswered.popitem(last=False)
        return Frame(way, self._number, api, version, correlation_id, payload)

    def _finished(self) -> None:
        with self._lock:
            self._alive -= 1
            last = self._alive == 0
        if last:
            for line in self._lines.values():
                line.source.close()
            self._done()


class _SocketLine:
    """A `Line` from one socket to the other."""

    def __init__(self, source: socket.socket, target: socket.socket, cut: Callable[[], None]) -> None:
        self.source = source
        self.cut = cut
        self._target = target
        self._lock = threading.Lock()
        self._held = 0
        self._ended = False

    def send(self, frame: Frame) -> None:
        with self._lock, suppress(OSError):  # whoever is gone gets nothing
            self._target.sendall(len(frame.payload).to_bytes(4, "big") + frame.payload)

    def keep_open(self, delta: int) -> None:
        with self._lock:
            self._held += delta
        self._pass_on_the_end()

    def end(self) -> None:
        """The source has closed; the target learns of it once nothing is held for it any more."""
        self._ended = True
        self._pass_on_the_end()

    def close(self) -> None:
        with suppress(OSError):
            self.source.shutdown(socket.SHUT_RDWR)

    def _pass_on_the_end(self) -> None:
        with self._lock:
            if self._ended and self._held == 0:
                with suppress(OSError):
                    self._target.shutdown(socket.SHUT_WR)
