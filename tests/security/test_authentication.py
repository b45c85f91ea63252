"""The way from a stranger to a principal, whatever the mechanism."""

from __future__ import annotations

import pytest

from penstock.security.authentication import (
    AuthenticationFailed,
    Challenge,
    IllegalSaslState,
    Proof,
    SaslAuthentication,
    UnsupportedMechanism,
)
from penstock.security.principals import user


class SaysItsName:
    """A mechanism for these tests: the second message is the user's name, `nobody` is refused."""

    def __init__(self, expires_ms: int | None = None) -> None:
        self._messages = 0
        self._expires_ms = expires_ms
        self.proof: Proof | None = None

    def respond(self, data: bytes) -> bytes:
        self._messages += 1
        if self._messages == 1:
            return b"and your name?"
        if data == b"nobody":
            raise AuthenticationFailed("no")
        self.proof = Proof(user(data.decode()), self._expires_ms)
        return b"welcome"


def authentication(expires_ms: int | None = None, **max_session_ms: int) -> SaslAuthentication:
    offered = {"NAME": lambda: SaysItsName(expires_ms), "OTHER": SaysItsName}
    return SaslAuthentication(offered, lambda: 1_000, max_session_ms)


def test_a_principal_is_known_when_the_mechanism_has_its_proof() -> None:
    machine = authentication()
    machine.begin("NAME")
    assert machine.respond(b"hello") == Challenge(b"and your name?")
    assert (machine.principal, machine.is_running) == (None, True)
    assert machine.respond(b"alice") == Challenge(b"welcome")
    assert (machine.principal, machine.is_running) == (user("alice"), False)


def test_a_mechanism_that_is_not_offered_is_refused() -> None:
    with pytest.raises(UnsupportedMechanism):
        authentication().begin("KERBEROS")


def test_a_message_without_a_mechanism_is_refused() -> None:
    with pytest.raises(IllegalSaslState):
        authentication().respond(b"alice")


@pytest.mark.parametrize(
    ("expires_ms", "max_ms", "lifetime_ms"),
    [(None, 0, 0), (None, 500, 500), (1_300, 0, 300), (1_300, 500, 300), (1_900, 500, 500), (900, 0, 1)],
)
def test_a_session_ends_with_the_credential_or_the_limit_of_the_listener(
    expires_ms: int | None, max_ms: int, lifetime_ms: int
) -> None:
    machine = authentication(expires_ms, NAME=max_ms)
    machine.begin("NAME")
    machine.respond(b"")
    assert machine.respond(b"alice").session_lifetime_ms == lifetime_ms


def proved() -> SaslAuthentication:
    machine = authentication()
    machine.begin("NAME")
    machine.respond(b"")
    machine.respond(b"alice")
    return machine


def test_the_same_principal_may_prove_itself_again() -> None:
    machine = proved()
    machine.begin("NAME")
    machine.respond(b"")
    machine.respond(b"alice")
    assert machine.principal == user("alice")


def test_another_principal_may_not_take_over_a_connection() -> None:
    machine = proved()
    machine.begin("NAME")
    machine.respond(b"")
    with pytest.raises(AuthenticationFailed, match="Cannot change principals"):
        machine.respond(b"mallory")
    assert machine.principal == user("alice")


def test_the_mechanism_of_a_connection_does_not_change() -> None:
    machine = proved()
    machine.begin("OTHER")
    with pytest.raises(AuthenticationFailed, match="mechanism"):
        machine.respond(b"")
