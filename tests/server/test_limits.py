"""How many connections there may be: for all, and for each address; and how fast they may come."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from penstock.controller.configs import Change, Operation, Resource, decide_changes
from penstock.controller.quotas import QuotaChange, decide_quotas
from penstock.server.connections.limits import ConnectionLimits, ConnectionRefused
from penstock.server.connections.transport import PlainTransport
from penstock.testing import Broker
from tests.handlers.one_node import OneNode
from tests.server.wire_bytes import connect, is_served

OPEN = lambda: False  # noqa: E731


def limits(**settings: str) -> tuple[OneNode, ConnectionLimits]:
    node = OneNode({name.replace("_", "."): value for name, value in settings.items()})
    return node, ConnectionLimits(node.broker)


def quota(node: OneNode, address: str | None, rate: float) -> None:
    change = [QuotaChange("connection_creation_rate", rate)]
    node.broker.controller.submit(lambda image: (decide_quotas(image, [("ip", address)], change), None))


def test_an_address_has_so_many_connections_and_no_more() -> None:
    _, limit = limits(max_connections_per_ip="2", max_connections_per_ip_overrides="10.0.0.9:3")
    for address, allowed in (("10.0.0.1", 2), ("10.0.0.9", 3)):
        for _ in range(allowed):
            limit.enter(address, OPEN)
        with pytest.raises(ConnectionRefused) as refusal:
            limit.enter(address, OPEN)
        assert refusal.value.delay_ms == 0
        limit.leave(address)
        limit.enter(address, OPEN)


def test_a_limit_that_is_changed_while_the_broker_runs_holds_for_the_next_connection() -> None:
    node, limit = limits()
    limit.enter("10.0.0.1", OPEN)
    change = [Change("max.connections.per.ip", Operation.SET, "1")]
    node.broker.controller.submit(
        lambda image: (decide_changes(image, Resource(4, ""), change, node.broker.static_settings), None)
    )
    with pytest.raises(ConnectionRefused):
        limit.enter("10.0.0.1", OPEN)


def test_an_address_beyond_its_quota_is_refused_after_a_delay() -> None:
    node, limit = limits()
    quota(node, "10.0.0.1", 1)
    for _ in range(10):
        limit.enter("10.0.0.1", OPEN)
    with pytest.raises(ConnectionRefused) as refusal:
        limit.enter("10.0.0.1", OPEN)
    assert refusal.value.delay_ms == 1000
    limit.enter("10.0.0.2", OPEN)
    node.clock.pass_ms(11_000)
    limit.enter("10.0.0.1", OPEN)


def test_a_quota_of_all_addresses_is_counted_for_each() -> None:
    node, limit = limits()
    quota(node, None, 1)
    for address in ("10.0.0.1", "10.0.0.2"):
        for _ in range(10):
            limit.enter(address, OPEN)
        with pytest.raises(ConnectionRefused):
            limit.enter(address, OPEN)


def test_who_waits_for_a_place_gets_the_next_one_that_is_free() -> None:
    _, limit = limits(max_connections="1")
    limit.enter("10.0.0.1", OPEN)
    entered = threading.Event()
    waiting = threading.Thread(target=lambda: (limit.enter("10.0.0.2", OPEN), entered.set()))
    waiting.start()
    assert not entered.wait(0.1)
    limit.leave("10.0.0.1")
    assert entered.wait(5)
    waiting.join(5)


def test_who_waits_for_a_place_goes_when_the_server_closes() -> None:
    _, limit = limits(max_connections="1")
    limit.enter("10.0.0.1", OPEN)
    closing = threading.Event()
    refused = threading.Event()

    def enter() -> None:
        with pytest.raises(ConnectionRefused):
            limit.enter("10.0.0.2", closing.is_set)
        refused.set()

    waiting = threading.Thread(target=enter)
    waiting.start()
    closing.set()
    limit.wake()
    assert refused.wait(5)
    waiting.join(5)


def test_sockets_beyond_the_limit_of_their_address_are_closed_and_others_served() -> None:
    with Broker(settings={"max.connections.per.ip": "2"}) as broker:
        first, second = connect(broker), connect(broker)
        assert is_served(first)
        assert is_served(second)
        assert not is_served(connect(broker))
        first.close()
        assert eventually_served(broker)


def eventually_served(broker: Broker) -> bool:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with connect(broker) as sock:
            if is_served(sock):
                return True
    return False


def test_a_socket_beyond_all_places_is_served_when_one_is_free() -> None:
    with Broker(settings={"max.connections": "1"}) as broker:
        first, second = connect(broker), connect(broker)
        assert is_served(first)
        second.settimeout(0.2)
        assert not is_served(second)
        first.close()
        second.settimeout(5)
        assert is_served(second)
        second.close()


def test_new_connections_come_no_faster_than_allowed() -> None:
    with Broker(settings={"max.connection.creation.rate": "10", "quota.window.num": "2"}) as broker:
        began = time.monotonic()
        for _ in range(15):
            with connect(broker) as sock:
                assert is_served(sock)
        assert time.monotonic() - began > 0.3


def test_a_connection_may_be_idle_for_ever_and_has_the_buffers_it_was_given() -> None:
    settings = {
        "connections.max.idle.ms": "-1",
        "socket.send.buffer.bytes": "30000",
        "socket.receive.buffer.bytes": "40000",
    }
    with Broker(settings=settings) as broker, connect(broker) as sock:
        assert is_served(sock)
        assert broker._broker is not None
        server = broker._broker._server
        with server._lock:  # a connection may answer a little before the server has noted it
            (connection,) = server._connections
        transport = connection._transport
        assert isinstance(transport, PlainTransport)
        served = transport._sock
        assert served.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO) == 0
        # Linux doubles what is asked for, to have room for its own records.
        assert served.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 60_000
        assert served.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 80_000
