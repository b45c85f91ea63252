"""The thread of a connection, with a session that returns what the test wants."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.clock import SystemClock
from penstock.coordinator.promise import Promise
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.replication.waiters import Waiter
from penstock.security.principals import ANONYMOUS, Principal
from penstock.server.connections.complaints import Complaints
from penstock.server.connections.connection import Commons, Connection
from penstock.server.connections.memory import NO_BOUND, RequestMemory
from penstock.server.connections.session import Exchange
from penstock.server.connections.slow_requests import CurrentRequest
from penstock.server.connections.transport import transport_for
from penstock.server.connections.turns import PureTurns

FAR_AWAY = 1e9
SECONDS = 10.0


class Client:
    """The other end of a connection that serves `handle`, and the session of this connection."""

    has_ended = False
    is_stranger = False
    plain = None

    def __init__(self, handle: Callable[[], Outcome]) -> None:
        session: Any = self
        self._handle = handle
        self.current = CurrentRequest("here", 0)
        with socket.create_server(("127.0.0.1", 0)) as door:
            self._socket = socket.create_connection(door.getsockname())
            served, _ = door.accept()
        self._socket.settimeout(SECONDS)
        clock = SystemClock()
        commons = Commons(clock, PureTurns(), RequestMemory(NO_BOUND, clock), Complaints(clock))
        transport = transport_for(served, 60_000)
        self.connection = Connection(transport, session, commons, host="here", max_frame_bytes=1000)
        self.thread = threading.Thread(target=self.connection.run, daemon=True)
        self.thread.start()

    def identify(self, principal: Principal) -> None:
        assert principal == ANONYMOUS

    def handle(self, frame: memoryview) -> Exchange:
        return Exchange(b"", self._handle())

    def ask(self) -> None:
        self._socket.sendall(struct.pack(">ih", 2, 7))

    def answer(self) -> bytes:
        (size,) = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        return self._socket.recv(size, socket.MSG_WAITALL)

    def close(self) -> None:
        self.connection.close()
        self._socket.close()
        self.thread.join(SECONDS)


class DoneWhenWatched(Promise[None]):
    """Done between the handler's look and the shell's registration, the narrowest of all moments."""

    def watch(self, waiter: Waiter) -> None:
        self.complete(None)
        super().watch(waiter)


class Steps:
    """A request of several steps; each waits for its promise, and is done once."""

    def __init__(self, *promises: Promise[None]) -> None:
        self._promises = promises
        self.done: list[int] = []
        self.waiting = threading.Semaphore(0)

    def handle(self) -> Outcome:
        return self._step(0, False)

    def _step(self, number: int, expired: bool) -> Reply | Wait:
        if number:
            self.done.append(number)
        if number == len(self._promises):
            return Reply([b"answer"])
        self.waiting.release()
        return Wait([self._promises[number]], FAR_AWAY, lambda late: self._step(number + 1, late))


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    opened: list[Client] = []
    yield opened
    for client in opened:
        client.close()


def test_a_step_that_is_done_while_it_is_registered_is_done_once(clients: list[Client]) -> None:
    second: Promise[None] = Promise()
    steps = Steps(DoneWhenWatched(), second)
    client = Client(steps.handle)
    clients.append(client)
    client.ask()
    for _ in range(2):
        assert steps.waiting.acquire(timeout=SECONDS)
    assert steps.done == [1]
    second.complete(None)
    assert client.answer() == b"answer"
    assert steps.done == [1, 2]


def test_a_request_of_many_steps_waits_for_each(clients: list[Client]) -> None:
    promises: list[Promise[None]] = [Promise() for _ in range(20)]
    steps = Steps(*promises)
    client = Client(steps.handle)
    clients.append(client)
    client.ask()
    for number, promise in enumerate(promises):
        assert steps.waiting.acquire(timeout=SECONDS)
        assert len(steps.done) == number
        promise.complete(None)
    assert client.answer() == b"answer"


def test_a_wait_without_a_change_does_not_spin(clients: list[Client]) -> None:
    looks: list[bool] = []
    woken, promise = threading.Event(), Promise[None]()

    def look(expired: bool) -> Reply | Wait:
        looks.append(expired)
        woken.set()
        return Reply([b"answer"]) if promise.done else Wait([promise], FAR_AWAY, look)

    client = Client(lambda: look(False))
    clients.append(client)
    client.ask()
    assert woken.wait(SECONDS)
    for _ in range(3):
        woken.clear()
        client.connection.wake()  # of a request before this one: it came too late
        assert woken.wait(SECONDS)
    assert len(looks) == 4
    promise.complete(None)
    assert client.answer() == b"answer"


def test_a_connection_that_closes_lets_no_request_wait(clients: list[Client]) -> None:
    steps = Steps(Promise(), Promise())
    client = Client(steps.handle)
    clients.append(client)
    client.ask()
    assert steps.waiting.acquire(timeout=SECONDS)
    client.connection.close()
    client.thread.join(SECONDS)
    assert not client.thread.is_alive()
    assert steps.done == [1, 2]
