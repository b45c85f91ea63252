"""How a connection proves its principal: a state machine that the session drives.

Handlers see a `Request` with its principal and cannot change it, so SaslHandshake and SaslAuthenticate never
reach one while SASL is under way. The session hands them to the connection's `SaslAuthentication` and takes
the principal from it. Mechanisms know bytes alone; the server knows the messages of Kafka around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from penstock.security.principals import Principal


class AuthenticationFailed(Exception):
    """The proof was refused. The message goes to the client; it never says which part of the proof was wrong,
    nor whether the user exists."""


class UnsupportedMechanism(Exception):
    """The client named a mechanism that this listener does not offer."""


class IllegalSaslState(Exception):
    """The client sent a SASL message where none is expected."""


class Proof(NamedTuple):
    """What a mechanism has found out."""

    principal: Principal
    expires_ms: int | None = None
    """When the credential ends, of the wall clock; None when it does not."""


class Mechanism(Protocol):
    """One run of a SASL mechanism, on the server's side."""

    @property
    def proof(self) -> Proof | None:
        """None until the client has proved who it is."""
        ...

    def respond(self, data: bytes) -> bytes:
        """The answer to the client's message; AuthenticationFailed when the proof does not hold."""
        ...


class Challenge(NamedTuple):
    """The server's next message."""

    data: bytes
    session_lifetime_ms: int = 0
    """After how long the client must prove itself again; 0 means never, or that it has not done so yet."""


class SaslAuthentication:
    """One connection's way from a stranger to a principal, and again when a session ends (KIP-368)."""

    def __init__(
        self,
        offered: Mapping[str, Callable[[], Mechanism]],
        now_ms: Callable[[], int],
        max_session_ms: Mapping[str, int] | None = None,
    ) -> None:
        """`max_session_ms` is `connections.max.reauth.ms` by mechanism; 0 or nothing means no limit."""
        self._offered = offered
        self._now_ms = now_ms
        self._max_session_ms = max_session_ms or {}
        self._name = ""
        self._running: Mechanism | None = None
        self._is_mechanism_changed = False
        self.principal: Principal | None = None
        """None until the client has proved one; it never changes afterwards."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(self._offered)

    @property
    def is_running(self) -> bool:
        """Whether the client's next message belongs to a mechanism."""
        return self._running is not None

    def begin(self, name: str) -> None:
        make = self._offered.get(name)
        if make is None:
            raise UnsupportedMechanism(f"Unsupported SASL mechanism {name}")
        self._is_mechanism_changed = self.principal is not None and name != self._name
        if not self._is_mechanism_changed:
            self._name = name
        self._running = make()

    def respond(self, data: bytes) -> Challenge:
        running = self._running
        if running is None:
            raise IllegalSaslState("no SASL mechanism was agreed on")
        if self._is_mechanism_changed:
            raise AuthenticationFailed(
                f"the SASL mechanism of a connection does not change from '{self._name}' by re-authentication"
            )
        answer = running.respond(data)
        if running.proof is None:
            return Challenge(answer)
        self._running = None
        return Challenge(answer, self._accept(running.proof))

    def _accept(self, proof: Proof) -> int:
        """Take the principal; gives the session's lifetime."""
        if self.principal is not None and proof.principal != self.principal:
            raise AuthenticationFailed(
                f"Cannot change principals during re-authentication from {self.principal}: {proof.principal}"
            )
        self.principal = proof.principal
        limits = []
        if proof.expires_ms is not None:
            limits.append(proof.expires_ms - self._now_ms())
        if self._max_session_ms.get(self._name, 0) > 0:
            limits.append(self._max_session_ms[self._name])
        return max(1, min(limits)) if limits else 0
