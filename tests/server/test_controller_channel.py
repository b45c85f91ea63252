"""The way to the active controller: another one is asked when that one is silent and no longer it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from penstock.clock import SystemClock
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_response
from penstock.server.cluster.controller_channel import SocketChannel
from penstock.server.cluster.promise_waits import wait_for
from penstock.wire.connection import Address

APIS = {"api_keys": [], "error_code": 0, "throttle_time": 0}


class Voter:
    """A socket that answers ApiVersions, and heartbeats in its own way or not at all."""

    def __init__(self, code: ErrorCode | None) -> None:
        self._code = code
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._socket.getsockname())
        self.asked = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as frames:
            while head := frames.read(4):
                frame = frames.read(struct.unpack(">i", head)[0])
                api, _, number = struct.unpack(">hhi", frame[:8])
                if api == Api.API_VERSIONS:
                    body = encode_response(Api.API_VERSIONS, 3, APIS)
                elif self._code is None:
                    self.asked.set()
                    continue
                else:
                    self.asked.set()
                    body = b"\x00" + _told(self._code)
                client.sendall(struct.pack(">ii", len(body) + 4, number) + body)


def _told(code: ErrorCode) -> bytes:
    fields = {
        "throttle_time": 0,
        "error_code": code,
        "is_caught_up": True,
        "is_fenced": False,
        "should_shut_down": False,
    }
    return encode_response(Api.BROKER_HEARTBEAT, 1, fields)


class Knows:
    """What a channel asks of its node's controller."""

    def __init__(self, active_id: int | None) -> None:
        self.active_id = active_id


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def channel_to(
    stack: ExitStack, knows: Knows, *codes: ErrorCode | None, timeout_ms: int = 10_000
) -> tuple[SocketChannel, list[Voter]]:
    voters = [Voter(code) for code in codes]
    for voter in voters:
        stack.callback(voter.close)
    addresses = {number: voter.address for number, voter in enumerate(voters, 1)}
    channel = SocketChannel(knows, addresses, SystemClock(), timeout_ms)  # type: ignore[arg-type]
    channel.start()
    stack.callback(channel.close)
    return channel, voters


def test_one_that_is_not_the_controller_any_more_is_left_for_the_one_that_is(stack: ExitStack) -> None:
    knows = Knows(1)
    channel, voters = channel_to(stack, knows, ErrorCode.NOT_CONTROLLER, ErrorCode.NONE)
    promise = channel.ask(Api.BROKER_HEARTBEAT, 1, bytes(30))
    assert voters[0].asked.wait(5)
    knows.active_id = 2
    assert read_response(Api.BROKER_HEARTBEAT, 1, wait_for(promise, 5)).is_caught_up


def test_nobody_waits_for_a_controller_that_is_stopped_when_there_is_another(stack: ExitStack) -> None:
    knows = Knows(1)
    channel, voters = channel_to(stack, knows, None, ErrorCode.NONE)
    promise = channel.ask(Api.BROKER_HEARTBEAT, 1, bytes(30))
    assert voters[0].asked.wait(5)
    knows.active_id = 2
    assert read_response(Api.BROKER_HEARTBEAT, 1, wait_for(promise, 3)).is_caught_up


def test_without_a_controller_the_promise_is_broken_in_time(stack: ExitStack) -> None:
    channel, _ = channel_to(stack, Knows(None), timeout_ms=300)
    promise = channel.ask(Api.BROKER_HEARTBEAT, 1, bytes(30))
    with pytest.raises(KafkaError) as error:
        wait_for(promise, 5)
    assert error.value.code is ErrorCode.REQUEST_TIMED_OUT
