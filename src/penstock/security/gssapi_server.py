"""GSSAPI (RFC 4752, Kerberos) on the server's side, without the library: that one is a `SecurityContext`.

After the tokens of Kerberos the server offers no security layer, which is what Kafka does: TLS protects the
bytes. The client confirms it, and may name an authorization id, which must be its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.kerberos_names import KerberosNames
from penstock.security.principals import user
from penstock.security.scram import refusal

MECHANISM: Final = "GSSAPI"
_NO_LAYER: Final = 1
_OFFER: Final = bytes([_NO_LAYER, 0, 0, 0])


class SecurityContext(Protocol):
    """One exchange of Kerberos. Each method raises AuthenticationFailed when the client's bytes are wrong."""

    @property
    def is_complete(self) -> bool: ...

    @property
    def client_name(self) -> str:
        """As `alice@REALM`; when it is complete."""
        ...

    def step(self, token: bytes) -> bytes:
        """The server's token; empty when it has none."""
        ...

    def wrap(self, data: bytes) -> bytes:
        """With a signature, and not encrypted."""
        ...

    def unwrap(self, data: bytes) -> bytes: ...


class GssapiServer:
    """A `Mechanism`."""

    def __init__(self, make_context: Callable[[], SecurityContext], names: KerberosNames) -> None:
        self._context = make_context()
        self._names = names
        self._has_offered = False
        self.proof: Proof | None = None

    def respond(self, data: bytes) -> bytes:
        if self._has_offered:
            self._accept(self._context.unwrap(data))
            return b""
        if not self._context.is_complete:
            answer = self._context.step(data)
            if answer or not self._context.is_complete:
                return answer
        self._has_offered = True
        return self._context.wrap(_OFFER)

    def _accept(self, choice: bytes) -> None:
        client = self._context.client_name
        if len(choice) < 4 or choice[0] != _NO_LAYER:
            raise refusal(MECHANISM)
        authorization_id = choice[4:].decode("utf-8", "replace")
        if authorization_id not in ("", client, client.partition("@")[0]):
            raise refusal(MECHANISM)
        try:
            self.proof = Proof(user(self._names.user_of(client)))
        except ValueError as error:
            raise AuthenticationFailed(str(error)) from None
