"""Kafka's messages around SASL: SaslHandshake, then SaslAuthenticate or (after a handshake of version 0) bare
frames. `Session` hands over what belongs here, and learns the principal.

On purpose unlike Kafka: a GSSAPI client of Kafka 0.9, which sends no handshake, is refused.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from penstock.clock import Clock
from penstock.handlers.reply import HangUp, Outcome, Reply, Wait
from penstock.handlers.table import HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.header import RequestHeader, read_request_header, response_header
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.primitives import Reader
from penstock.security.authentication import (
    AuthenticationFailed,
    Challenge,
    SaslAuthentication,
    UnsupportedMechanism,
)

BARE: Final = 0  # the version of a handshake after which tokens come without Kafka's header
REAUTHENTICATION_SECONDS: Final = 1.0  # a client may not prove itself more often
MAX_FRAME_BYTES: Final = 524288  # Kafka's sasl.server.max.receive.size


class SaslAnswer(NamedTuple):
    """The header of the response (empty for a bare token), and its body."""

    header: bytes
    outcome: Outcome


class SaslConversation:
    """Drives the `SaslAuthentication` of one connection."""

    def __init__(self, authentication: SaslAuthentication, clock: Clock, failure_delay_ms: int = 100) -> None:
        self._authentication = authentication
        self._clock = clock
        self._failure_delay_ms = failure_delay_ms
        self._is_bare = False
        self._proved_at = 0.0
        self._expires_at: float | None = None
        self.has_failed = False
        """Whether the connection ends when the answer has left."""

    @property
    def authentication(self) -> SaslAuthentication:
        return self._authentication

    def takes(self, api_key: int) -> bool:
        """Whether a frame that begins with this number belongs to SASL. HangUp when it must not be sent
        now."""
        if self._authentication.is_running:
            return True
        if self._authentication.principal is None:
            if api_key == Api.API_VERSIONS:
                return False
            if api_key != Api.SASL_HANDSHAKE:
                raise HangUp(f"Unexpected Kafka request with API key {api_key} during SASL handshake.")
            return True
        now = self._clock.monotonic()
        if api_key == Api.SASL_HANDSHAKE:
            return now - self._proved_at >= REAUTHENTICATION_SECONDS
        if self._expires_at is not None and now >= self._expires_at:
            raise HangUp("the session has expired, and the client has not re-authenticated")
        return False

    def handle(self, frame: memoryview) -> SaslAnswer:
        if len(frame) > MAX_FRAME_BYTES:
            raise HangUp(f"a SASL message of {len(frame)} bytes")
        if self._authentication.is_running and self._is_bare:
            return self._bare_token(bytes(frame))
        header, reader = read_request_header(frame)
        expected = Api.SASL_AUTHENTICATE if self._authentication.is_running else Api.SASL_HANDSHAKE
        if header.api_key != expected:
            raise HangUp(f"Unexpected Kafka request with API key {header.api_key} during SASL.")
        oldest, newest = HANDLERS[expected].VERSIONS
        if not oldest <= header.version <= newest:
            raise HangUp(f"{expected.name} v{header.version} is not served, only v{oldest}-v{newest}")
        answer = self._token if expected is Api.SASL_AUTHENTICATE else self._handshake
        return SaslAnswer(
            response_header(expected, header.version, header.correlation_id), answer(header, reader)
        )

    def _handshake(self, header: RequestHeader, reader: Reader) -> Outcome:
        wanted = read_request(Api.SASL_HANDSHAKE, header.version, reader)
        fields: dict[str, Any] = {
            "error_code": ErrorCode.NONE,
            "mechanisms": self._authentication.mechanisms,
        }
        try:
            self._authentication.begin(wanted.mechanism)
        except UnsupportedMechanism:
            fields["error_code"] = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return self._failed(encode_response(Api.SASL_HANDSHAKE, header.version, fields))
        self._is_bare = header.version == BARE
        return Reply([encode_response(Api.SASL_HANDSHAKE, header.version, fields)])

    def _token(self, header: RequestHeader, reader: Reader) -> Outcome:
        wanted = read_request(Api.SASL_AUTHENTICATE, header.version, reader)
        fields: dict[str, Any] = {
            "error_code": ErrorCode.NONE,
            "error_message": None,
            "auth_bytes": b"",
            "session_lifetime": 0,
        }
        try:
            challenge = self._respond(bytes(wanted.auth_bytes))
        except AuthenticationFailed as failure:
            fields |= {"error_code": ErrorCode.SASL_AUTHENTICATION_FAILED, "error_message": str(failure)}
            return self._failed(encode_response(Api.SASL_AUTHENTICATE, header.version, fields))
        fields |= {"auth_bytes": challenge.data, "session_lifetime": challenge.session_lifetime_ms}
        return Reply([encode_response(Api.SASL_AUTHENTICATE, header.version, fields)])

    def _bare_token(self, data: bytes) -> SaslAnswer:
        try:
            challenge = self._respond(data)
        except AuthenticationFailed as failure:
            return SaslAnswer(b"", self._late(HangUp(f"authentication failed: {failure}")))
        return SaslAnswer(b"", Reply([challenge.data]))

    def _respond(self, data: bytes) -> Challenge:
        challenge = self._authentication.respond(data)
        if not self._authentication.is_running:
            self._proved_at = self._clock.monotonic()
            lifetime_ms = challenge.session_lifetime_ms
            self._expires_at = self._proved_at + lifetime_ms / 1000 if lifetime_ms else None
        return challenge

    def _failed(self, body: bytes) -> Wait:
        """The answer leaves late, so that guessing costs time; then the connection ends."""
        return self._late(Reply([body]))

    def _late(self, end: Reply | HangUp) -> Wait:
        self.has_failed = True
        deadline = self._clock.monotonic() + self._failure_delay_ms / 1000
        return Wait((), deadline, partial(self._when_due, deadline, end))

    def _when_due(self, deadline: float, end: Reply | HangUp, expired: bool) -> Reply | Wait:
        if not expired and self._clock.monotonic() < deadline:
            return Wait((), deadline, partial(self._when_due, deadline, end))
        if isinstance(end, HangUp):
            raise end
        return end
