"""SASL in a session: which requests are served before, during and after a client proves its principal."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.handlers.reply import HangUp, Reply, Wait
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_request, read_response
from penstock.security.authentication import SaslAuthentication
from penstock.security.principals import user
from penstock.server.connections.sasl import SaslConversation
from penstock.server.connections.session import Exchange, Session
from tests.handlers.one_node import LISTENER, OneNode, body_of, request_frame
from tests.security.test_authentication import SaysItsName

CLUSTER = {"include_cluster_authorized_operations": False, "endpoint_type": 1}


class Client:
    """A connection whose listener wants SASL."""

    def __init__(self, max_session_ms: int = 0) -> None:
        self.node = OneNode()
        clock = self.node.clock
        machine = SaslAuthentication({"NAME": SaysItsName}, clock.now_ms, {"NAME": max_session_ms})
        self.sasl = SaslConversation(machine, clock, failure_delay_ms=100)
        self.session = Session(self.node.broker, LISTENER, "127.0.0.1", sasl=self.sasl)

    def send(self, data: bytes) -> Exchange:
        return self.session.handle(memoryview(bytearray(data)))

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        frame = request_frame(api, version, encode_request(api, version, fields))
        return read_response(api, version, body_of(self.node.settle(self.send(frame).outcome)))

    def authenticate(self, name: str, version: int = 2) -> Any:
        assert self.ask(Api.SASL_HANDSHAKE, 1, mechanism="NAME").error_code == 0
        self.ask(Api.SASL_AUTHENTICATE, version, auth_bytes=b"hello")
        return self.ask(Api.SASL_AUTHENTICATE, version, auth_bytes=name.encode())


def test_a_stranger_may_ask_for_versions_and_nothing_else() -> None:
    client = Client()
    assert client.ask(Api.API_VERSIONS, 0).error_code == 0
    with pytest.raises(HangUp, match="during SASL handshake"):
        client.ask(Api.DESCRIBE_CLUSTER, 1, **CLUSTER)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_that_has_proved_itself_is_served_as_its_principal(version: int) -> None:
    client = Client()
    answer = client.authenticate("alice", version)
    assert (answer.error_code, answer.auth_bytes) == (0, b"welcome")
    assert client.ask(Api.DESCRIBE_CLUSTER, 1, **CLUSTER).error_code == 0
    assert client.sasl.authentication.principal == user("alice")
    assert client.session._principal == user("alice")


def test_a_handshake_of_version_0_is_followed_by_bare_tokens() -> None:
    client = Client()
    assert client.ask(Api.SASL_HANDSHAKE, 0, mechanism="NAME").mechanisms == ("NAME",)
    header, outcome, *_ = client.send(b"hello")
    assert (header, body_of(outcome)) == (b"", b"and your name?")  # type: ignore[arg-type]
    assert client.send(b"alice").header == b""
    assert client.ask(Api.DESCRIBE_CLUSTER, 1, **CLUSTER).error_code == 0


def test_an_unknown_mechanism_is_answered_with_those_that_are_offered_and_ends_the_connection() -> None:
    client = Client()
    answer = client.ask(Api.SASL_HANDSHAKE, 1, mechanism="MAGIC")
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("NAME",))
    assert client.session.has_ended


def test_a_refusal_leaves_after_the_delay_and_not_before() -> None:
    client = Client()
    client.ask(Api.SASL_HANDSHAKE, 1, mechanism="NAME")
    client.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"hello")
    body = encode_request(Api.SASL_AUTHENTICATE, 2, {"auth_bytes": b"nobody"})
    outcome = client.send(request_frame(Api.SASL_AUTHENTICATE, 2, body)).outcome
    assert isinstance(outcome, Wait)
    outcome = outcome.resume(False)
    assert isinstance(outcome, Wait)
    assert client.session.has_ended
    client.node.clock.pass_ms(100)
    reply = outcome.resume(False)
    assert isinstance(reply, Reply)
    answer = read_response(Api.SASL_AUTHENTICATE, 2, body_of(reply))
    assert (answer.error_code, answer.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, "no")


def test_a_bare_token_that_is_refused_ends_the_connection_after_the_delay_and_not_before() -> None:
    client = Client()
    client.ask(Api.SASL_HANDSHAKE, 0, mechanism="NAME")
    client.send(b"hello")
    outcome = client.send(b"nobody").outcome
    assert isinstance(outcome, Wait)
    assert client.session.has_ended
    outcome = outcome.resume(False)
    assert isinstance(outcome, Wait)
    client.node.clock.pass_ms(100)
    with pytest.raises(HangUp, match="authentication failed"):
        outcome.resume(False)


def test_a_session_that_has_expired_serves_nothing_until_the_client_proves_itself_again() -> None:
    client = Client(max_session_ms=10_000)
    assert client.authenticate("alice").session_lifetime.total_seconds() == 10
    client.node.clock.pass_ms(9_000)
    assert client.ask(Api.DESCRIBE_CLUSTER, 1, **CLUSTER).error_code == 0
    assert client.authenticate("alice").error_code == 0
    client.node.clock.pass_ms(9_000)
    assert client.ask(Api.DESCRIBE_CLUSTER, 1, **CLUSTER).error_code == 0
    client.node.clock.pass_ms(1_001)
    with pytest.raises(HangUp, match="expired"):
        client.ask(Api.DESCRIBE_CLUSTER, 1, **CLUSTER)


def test_another_name_does_not_take_over_the_connection() -> None:
    client = Client(max_session_ms=10_000)
    client.authenticate("alice")
    client.node.clock.pass_ms(2_000)
    answer = client.authenticate("mallory")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.session.has_ended


def test_a_handshake_within_the_same_second_is_answered_as_out_of_place() -> None:
    client = Client()
    client.authenticate("alice")
    assert client.ask(Api.SASL_HANDSHAKE, 1, mechanism="NAME").error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_where_there_is_no_sasl_it_is_out_of_place() -> None:
    node = OneNode()
    assert node.ask(Api.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = node.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"x")
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_message_beyond_the_bound_ends_the_connection() -> None:
    client = Client()
    client.ask(Api.SASL_HANDSHAKE, 1, mechanism="NAME")
    with pytest.raises(HangUp, match="bytes"):
        client.ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=bytes(600_000))
