"""The way from this node to the active controller over sockets: see `penstock.controller.channel`.

Heartbeats must not wait behind a request that waits for a commit, so there are lanes: one for the broker's
own life, one for its partitions, a few for what clients want. Each has its thread and its connection, to
the controller that the quorum names, this node's own listener included.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Mapping
from threading import Event, Thread
from typing import Final, NamedTuple

from penstock.clock import Clock
from penstock.controller.controller import Controller
from penstock.coordinator.promise import Promise, failed
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import read_response
from penstock.protocol.primitives import MalformedMessage
from penstock.security.client_settings import ClientSettings
from penstock.wire.connection import PLAINTEXT, Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

MAX_WAITING: Final = 1000
CLIENT_LANES: Final = 4
RETRY_SECONDS: Final = 0.05
LOOK_SECONDS: Final = 0.2
_ATTEMPT_SECONDS: Final = 10.0

_LIFE: Final = frozenset({Api.BROKER_REGISTRATION, Api.BROKER_HEARTBEAT})
_PARTITIONS: Final = frozenset({Api.ALTER_PARTITION})

_log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    api: Api
    version: int
    body: bytes
    promise: Promise[bytes]
    deadline: float


class SocketChannel:
    """A `ControllerChannel`."""

    def __init__(
        self,
        controller: Controller,
        voters: Mapping[int, Address],
        clock: Clock,
        timeout_ms: int,
        security: ClientSettings = PLAINTEXT,
    ) -> None:
        self._controller = controller
        self._security = security
        self._voters = voters
        self._clock = clock
        self._timeout_seconds = timeout_ms / 1000
        self._stopped = Event()
        self._queues: dict[str, queue.Queue[_Asked | None]] = {
            name: queue.Queue(MAX_WAITING) for name in ("life", "partitions", "clients")
        }
        lanes = ["life", "partitions", *["clients"] * CLIENT_LANES]
        self._threads = [
            Thread(target=self._run, args=(self._queues[lane],), name=f"to-controller-{lane}", daemon=True)
            for lane in lanes
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """What is under way is given up."""
        self._stopped.set()
        for waiting in self._queues.values():
            for _ in range(CLIENT_LANES):
                if not waiting.full():
                    waiting.put(None)
        for thread in self._threads:
            thread.join(RETRY_SECONDS)

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]:
        lane = "life" if api in _LIFE else "partitions" if api in _PARTITIONS else "clients"
        promise: Promise[bytes] = Promise()
        deadline = self._clock.monotonic() + self._timeout_seconds
        try:
            self._queues[lane].put_nowait(_Asked(api, version, body, promise, deadline))
        except queue.Full:
            return failed(_late("too many requests wait for the controller"))
        return promise

    def _run(self, waiting: queue.Queue[_Asked | None]) -> None:
        line = _Line(self._controller, self._voters, self._security)
        while not self._stopped.is_set() and (asked := waiting.get()) is not None:
            answer = self._answer(line, asked)
            if answer is None:
                asked.promise.fail(_late("no controller has answered in time"))
            else:
                asked.promise.complete(answer)
        line.close()

    def _answer(self, line: _Line, asked: _Asked) -> bytes | None:
        while not self._stopped.is_set() and (left := asked.deadline - self._clock.monotonic()) > 0:
            try:
                answer = line.exchange(asked, Deadline(min(left, _ATTEMPT_SECONDS)))
            except (WireError, MalformedMessage) as error:
                _log.debug("%s to the controller: %s", asked.api.name, error)
                answer = None
            if answer is not None:
                return answer
            self._stopped.wait(min(RETRY_SECONDS, left))
        return None


class _Line:
    """A connection to the active controller; another one when the controller changes."""

    def __init__(
        self, controller: Controller, voters: Mapping[int, Address], security: ClientSettings
    ) -> None:
        self._controller = controller
        self._security = security
        self._voters = voters
        self._to: int | None = None
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def exchange(self, asked: _Asked, deadline: Deadline) -> bytes | None:
        """The answer; None when there is no controller, or it is another one by now."""
        active = self._controller.active_id
        if active is None:
            return None
        if active != self._to or self._connection is None or self._connection.closed:
            self.close()
            self._connection = Connection(self._voters[active], deadline.sooner(1.0), settings=self._security)
            self._to = active
        self._connection.send(asked.api, asked.version, [asked.body], deadline)
        while not self._connection.has_answer(LOOK_SECONDS):
            if deadline.passed or self._controller.active_id != active:
                self.close()  # one that is cut off or stopped would keep us waiting
                return None
        answer = bytes(self._connection.receive(deadline))
        error_code = int(read_response(asked.api, asked.version, answer).error_code)
        return None if error_code == ErrorCode.NOT_CONTROLLER else answer


def _late(why: str) -> KafkaError:
    return KafkaError(ErrorCode.REQUEST_TIMED_OUT, why)
