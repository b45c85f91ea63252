"""GSSAPI on the server's side, with a context that believes everybody."""

from __future__ import annotations

import pytest

from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.gssapi_server import GssapiServer
from penstock.security.kerberos_names import KerberosNames
from penstock.security.principals import user

CHOICE = b"\x01\x00\x00\x00"


class Believing:
    """Complete after `steps` tokens; what is wrapped has a W before it."""

    client_name = "alice@HERE"

    def __init__(self, steps: int, answers: bool) -> None:
        self._left = steps
        self._answers = answers

    @property
    def is_complete(self) -> bool:
        return self._left == 0

    def step(self, token: bytes) -> bytes:
        self._left -= 1
        return b"answer" if self._answers or self._left else b""

    def wrap(self, data: bytes) -> bytes:
        return b"W" + data

    def unwrap(self, data: bytes) -> bytes:
        return data[1:]


def server(steps: int = 1, *, answers: bool = True) -> GssapiServer:
    return GssapiServer(lambda: Believing(steps, answers), KerberosNames("DEFAULT", "HERE"))


def test_tokens_then_the_offer_of_no_layer_then_the_clients_choice() -> None:
    machine = server(2)
    assert [machine.respond(b"token") for _ in range(2)] == [b"answer", b"answer"]
    assert machine.proof is None
    assert machine.respond(b"") == b"W\x01\x00\x00\x00"
    assert machine.respond(b"W" + CHOICE + b"alice@HERE") == b""
    assert machine.proof == Proof(user("alice"))


def test_the_offer_follows_at_once_where_kerberos_has_no_last_token() -> None:
    machine = server(answers=False)
    assert machine.respond(b"token") == b"W\x01\x00\x00\x00"
    machine.respond(b"W" + CHOICE)
    assert machine.proof == Proof(user("alice"))


@pytest.mark.parametrize(
    "choice", [b"", b"\x01\x00\x00", b"\x02\x00\xff\xff", CHOICE + b"bob", CHOICE + b"\xff"]
)
def test_another_choice_or_another_name_is_refused(choice: bytes) -> None:
    machine = server(answers=False)
    machine.respond(b"token")
    with pytest.raises(AuthenticationFailed):
        machine.respond(b"W" + choice)
    assert machine.proof is None
