"""Cuts are one-way or two-way, silent, and healed; what a node sends carries its own address."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from penstock.testing.cluster import Network

LISTEN = """
import socket
server = socket.create_server(("", 7000))
print("ready", flush=True)
while True:
    connection, peer = server.accept()
    connection.sendall(peer[0].encode())
    connection.close()
"""
CALL = """
import socket, sys
try:
    connection = socket.create_connection((sys.argv[1], 7000), timeout=0.5)
    print(connection.recv(100).decode())
except TimeoutError:
    print("silence")
"""


@pytest.fixture
def network() -> Iterator[Network]:
    """Two nodes, each with a server that tells its callers who they are."""
    if (reason := Network.why_not()) is not None:
        pytest.skip(reason)
    with Network() as network:
        servers = []
        for number in (1, 2):
            network.add(number)
            command = [*network.prefix(number), sys.executable, "-c", LISTEN]
            servers.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        for server in servers:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
        yield network
        for server in servers:
            server.kill()
            server.wait(10)
            assert server.stdout is not None
            server.stdout.close()


def call(network: Network, source: int, target: int) -> str:
    command = [*network.prefix(source), sys.executable, "-c", CALL, network.address_of(target)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()


def test_nodes_know_each_other_by_their_own_addresses(network: Network) -> None:
    assert call(network, 1, 2) == network.address_of(1)
    assert call(network, 2, 1) == network.address_of(2)


def test_a_cut_is_silent_and_is_healed(network: Network) -> None:
    network.cut_both(1, 2)
    assert call(network, 1, 2) == "silence"
    network.heal()
    assert call(network, 1, 2) == network.address_of(1)


def test_a_cut_in_one_direction_leaves_the_other_open(network: Network) -> None:
    """No handshake is completed either way, but packets still go from the second node to the first."""
    count = [*network.prefix(1), "cat", "/proc/net/snmp"]
    network.cut(1, 2)
    before = subprocess.run(count, capture_output=True, text=True, check=True).stdout
    assert call(network, 2, 1) == "silence"
    after = subprocess.run(count, capture_output=True, text=True, check=True).stdout
    assert received_segments(after) > received_segments(before)
    network.cut(2, 1)
    before = subprocess.run(count, capture_output=True, text=True, check=True).stdout
    assert call(network, 2, 1) == "silence"
    after = subprocess.run(count, capture_output=True, text=True, check=True).stdout
    assert received_segments(after) == received_segments(before)


def test_an_unplugged_node_is_heard_by_nobody(network: Network) -> None:
    network.unplug(2)
    assert call(network, 1, 2) == "silence"
    network.heal()
    assert call(network, 1, 2) == network.address_of(1)


def received_segments(snmp: str) -> int:
    names, values = (line.split() for line in snmp.splitlines() if line.startswith("Tcp:"))
    return int(values[names.index("InSegs")])
