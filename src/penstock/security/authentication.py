"""How a connection proves its principal: a state machine that the session drives.

Handlers see a `Request` with its principal and cannot change it, so SaslHandshake and SaslAuthenticate never
reach one. `server/connections/session.py:Session` hands them to the connection's `Authentication`, and takes
the principal from it. Mechanisms know bytes alone; the session knows the messages of Kafka around them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.security.principals import ANONYMOUS, Principal


class AuthenticationFailed(Exception):
    """The proof was refused. The message is for the client and never says which part of it was wrong."""


class UnsupportedMechanism(Exception):
    """The client named a mechanism that this listener does not offer."""


class IllegalSaslState(Exception):
    """The client sent a SASL message where none is expected."""


class Challenge(NamedTuple):
    """The server's next message of a mechanism."""

    data: bytes
    session_lifetime_ms: int = 0
    """After how long the client must prove itself again; 0 means never, or not yet known."""


class Authentication(Protocol):
    """One connection's way from a stranger to a principal."""

    @property
    def principal(self) -> Principal | None:
        """None until the connection has proved one. Then requests other than SASL's are served."""
        ...

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What the listener offers."""
        ...

    def begin(self, mechanism: str) -> None:
        """Raises UnsupportedMechanism or IllegalSaslState."""
        ...

    def respond(self, data: bytes) -> Challenge:
        """The answer to the client's message. Raises AuthenticationFailed or IllegalSaslState."""
        ...


class NoAuthentication:
    """A listener without SASL: the transport has said who is there, and nothing more is asked."""

    mechanisms: tuple[str, ...] = ()

    def __init__(self, principal: Principal = ANONYMOUS) -> None:
        self.principal = principal

    def begin(self, mechanism: str) -> None:
        raise IllegalSaslState("this listener does not use SASL")

    def respond(self, data: bytes) -> Challenge:
        raise IllegalSaslState("this listener does not use SASL")
