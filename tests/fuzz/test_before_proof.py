"""S4, before the proof: on a listener with SASL no API in any version answers a client that has not proved
itself, but those by which it does so."""

from __future__ import annotations

import socket
import struct
from random import Random

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.jaas import PLAIN_MODULE
from penstock.testing import Broker
from tests.fuzz.requests import RequestMaker, served_versions
from tests.server.wire_bytes import ask, framed

BEFORE_PROOF = {Api.API_VERSIONS, Api.SASL_HANDSHAKE}
SECONDS = 20.0
SETTINGS = {
    "listeners": "SASL://127.0.0.1:0",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "inter.broker.listener.name": "SASL",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": (
        f'{PLAIN_MODULE} required username="node" password="n" user_node="n";'
    ),
    "connection.failed.authentication.delay.ms": "0",
}


WRONG = b"\0node\0wrong"


def answer_after_a_wrong_password(address: tuple[str, int], frame: bytes) -> bytes:
    """What comes on a connection after the refusal of its proof."""
    with socket.create_connection(address, timeout=SECONDS) as sock:
        ask(sock, Api.SASL_HANDSHAKE, 1, mechanism="PLAIN")
        refused = ask(sock, Api.SASL_AUTHENTICATE, 2, auth_bytes=WRONG)
        assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        try:
            sock.sendall(framed(frame))
            sock.shutdown(socket.SHUT_WR)
            return sock.recv(65536)
        except OSError:
            return b""


def answer_to(address: tuple[str, int], frame: bytes) -> bytes:
    """What the broker says to one frame on a new connection; nothing when it hangs up."""
    with socket.create_connection(address, timeout=SECONDS) as sock:
        try:
            sock.sendall(framed(frame))
            return sock.recv(65536)
        except ConnectionError:
            return b""


@pytest.mark.claim("S4")
def test_no_api_answers_before_the_proof(seed: int) -> None:
    maker, tried = RequestMaker(Random(seed)), 0
    with Broker(settings=SETTINGS) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        for api, version in served_versions():
            answer = answer_to((host, int(port)), maker.frame(api, version))
            tried += 1
            if api in BEFORE_PROOF:
                assert answer, f"{api.name} v{version} is needed to come in"
            elif api is Api.SASL_AUTHENTICATE:
                assert not answer or struct.unpack_from(">h", answer, 8)[0], (
                    "without a handshake it is an error"
                )
            else:
                assert not answer, f"{api.name} v{version} answers a stranger: {answer[:60]!r}"
    print(f"{tried} requests")


@pytest.mark.claim("S4")
def test_no_api_answers_after_a_wrong_password(seed: int) -> None:
    maker, tried = RequestMaker(Random(seed)), 0
    with Broker(settings=SETTINGS) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        for api, version in served_versions():
            answer = answer_after_a_wrong_password((host, int(port)), maker.frame(api, version))
            assert not answer, f"{api.name} v{version} answers after a wrong password: {answer[:60]!r}"
            tried += 1
    print(f"{tried} requests")
