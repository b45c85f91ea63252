"""One connection to one broker: frames out, frames in, versions agreed once.

Requests may be sent before the answer to the one before has come; answers come in the order of the requests.
A connection belongs to one thread at a time (`Cluster` lends them) and is closed by the first thing that goes
wrong on it, because nobody knows what would come next.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import MalformedMessage, Reader, Writer
from penstock.security.authentication import AuthenticationFailed
from penstock.security.client_settings import ClientSettings
from penstock.security.keystores import KeystoreError
from penstock.wire.authenticating import authenticate
from penstock.wire.deadline import Deadline
from penstock.wire.errors import (
    DeadlineExceeded,
    Disconnected,
    Malformed,
    NotAuthenticated,
    Unreachable,
    Unsupported,
    WireError,
    error_code,
)
from penstock.wire.tls import client_context
from penstock.wire.transport import Buffer, PlainTransport, TlsTransport, Transport

# A fetch answers with one batch at least, whatever its size; this bounds what a broker can make us hold.
MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
PLAINTEXT: Final = ClientSettings()
_API_VERSIONS_NEWEST: Final = 3
_SASL_HANDSHAKE: Final = 1
_SASL_AUTHENTICATE: Final = (0, 2)
_BEFORE_PROOF: Final = (Api.API_VERSIONS, Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE)
_TLS_ALERT: Final = b"\x15\x03"  # how a TLS listener answers a client that does not speak TLS
_SESSION_SHARE: Final = 0.85  # of a session's life: then the client proves itself again (KIP-368)


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """`host:port`, with or without a listener's name before it, as in Kafka's `PLAINTEXT://`."""
        host, colon, port = text.strip().rpartition("://")[2].rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ValueError(
                f"{text!r} is not the address of a broker: write host:port, as in localhost:9092"
            )
        return cls(host.strip("[]"), int(port))


class _Awaited(NamedTuple):
    correlation_id: int
    api: Api
    version: int


class Connection:
    """Open on return from the constructor, with the broker's versions known."""

    def __init__(
        self,
        address: Address,
        deadline: Deadline,
        *,
        client_id: str = "penstock",
        settings: ClientSettings = PLAINTEXT,
    ) -> None:
        """`settings` say how the connection is secured; their addresses mean nothing here."""
        self.address = address
        self.closed = False
        self._client_id = client_id
        self._settings = settings
        self._next_correlation_id = 0
        self._awaited: deque[_Awaited] = deque()
        self._was_served = False  # a request has been answered that needs a proof, where one is asked for
        self._session: Deadline | None = None  # when it passes, the client must prove itself again
        self._transport = _open(address, settings, deadline)
        try:
            self._versions, self._features = self._ask_versions(deadline)
            if settings.sasl is not None:
                self._authenticate(deadline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.closed = True
        self._transport.close()

    def interrupt(self) -> None:
        """A thread that waits for an answer here sees the end of the connection. Any thread may call it."""
        self._transport.interrupt()

    @property
    def idle(self) -> bool:
        """Whether it can be used for something new: open at both ends and no answer outstanding."""
        if self.closed or self._awaited:
            return False
        return self._transport.is_quiet()

    def version(self, api: Api, oldest: int, newest: int) -> int:
        """The newest version that both sides know."""
        offered = self._versions.get(api)
        if offered is None or offered[0] > newest or offered[1] < oldest:
            has = "not at all" if offered is None else f"in versions {offered[0]} to {offered[1]}"
            raise Unsupported(
                f"the broker at {self.address} speaks {api.name} {has}, "
                f"and we need one of versions {oldest} to {newest}"
            )
        return min(newest, offered[1])

    def feature(self, name: str) -> int:
        """The level to which the cluster has finalised a feature; 0 where it knows none of that name."""
        return self._features.get(name, 0)

    def call(
        self, api: Api, fields: Mapping[str, Any], deadline: Deadline, *, oldest: int, newest: int
    ) -> Any:
        """Ask and wait. `fields` are those of the newest version; an older one drops what it lacks."""
        version = self.version(api, oldest, newest)
        self.send(api, version, [messages.encode_request(api, version, fields)], deadline)
        body = self.receive(deadline)
        try:
            return messages.read_response(api, version, bytes(body))
        except MalformedMessage as error:
            raise self._broken(Malformed(f"{api.name} of {self.address}: {error}")) from None

    def send(self, api: Api, version: int, body: Sequence[Buffer], deadline: Deadline) -> None:
        """Send a request whose body is given in parts; they are not copied."""
        if self._session is not None and self._session.passed and not self._awaited:
            self._authenticate(deadline)
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        header = Writer(flexible=False)
        header.int16(api)
        header.int16(version)
        header.int32(self._next_correlation_id)
        header.nullable_string(self._client_id)
        if is_flexible(api, version):
            header.data += b"\x00"  # no tagged fields; the client id is never compact
        size = len(header.data) + sum(len(part) for part in body)
        try:
            self._transport.send([struct.pack(">i", size), header.data, *body], deadline)
        except OSError as error:
            raise self._failed(error, deadline) from None
        self._awaited.append(_Awaited(self._next_correlation_id, api, version))

    def has_answer(self, seconds: float) -> bool:
        """Whether an answer begins to arrive within this time, or the end of the connection does."""
        return self._transport.has_arrived(seconds)

    def receive(self, deadline: Deadline) -> memoryview:
        """The body of the answer to the oldest request that still awaits one."""
        awaited = self._awaited.popleft()
        prefix = self._receive_exactly(4, deadline)
        if self._settings.tls is None and prefix.startswith(_TLS_ALERT):
            raise self._broken(
                NotAuthenticated(
                    f"{self.address} speaks TLS, and the client does not: set security.protocol to SSL or "
                    "SASL_SSL, or use a listener without TLS"
                )
            )
        (size,) = struct.unpack(">i", prefix)
        if not 4 <= size <= MAX_RESPONSE_BYTES:
            raise self._broken(
                Malformed(
                    f"{self.address} announces an answer of {size} bytes to {awaited.api.name}; "
                    f"{MAX_RESPONSE_BYTES} are allowed. Is it a broker's PLAINTEXT listener?"
                )
            )
        frame = self._receive_exactly(size, deadline)
        reader = Reader(memoryview(frame))
        if reader.int32() != awaited.correlation_id:
            raise self._broken(Malformed(f"{self.address} answered something that was not asked"))
        if is_flexible(awaited.api, awaited.version) and awaited.api is not Api.API_VERSIONS:
            reader.flexible = True
            reader.tags()
        self._was_served = awaited.api not in _BEFORE_PROOF
        return reader.buffer[reader.position :]

    def _ask_versions(self, deadline: Deadline) -> tuple[dict[Api, tuple[int, int]], dict[str, int]]:
        version = _API_VERSIONS_NEWEST
        while True:
            fields = {"client_software_name": "penstock", "client_software_version": "1"}
            request = messages.encode_request(Api.API_VERSIONS, version, fields)
            self.send(Api.API_VERSIONS, version, [request], deadline)
            body = self.receive(deadline)
            try:
                # A broker that does not know our version says so in the oldest form of the answer.
                if version and Reader(body).int16() == ErrorCode.UNSUPPORTED_VERSION:
                    version = 0
                    continue
                answer = messages.read_response(Api.API_VERSIONS, version, bytes(body))
            except MalformedMessage as error:
                raise Malformed(f"{self.address} does not answer as a broker does: {error}") from None
            known = set(Api)
            versions = {
                Api(offer.api_key): (offer.min_version, offer.max_version)
                for offer in answer.api_keys
                if offer.api_key in known
            }
            finalised = getattr(answer, "finalized_features", ())
            return versions, {feature.name: feature.max_version_level for feature in finalised}

    def _authenticate(self, deadline: Deadline) -> None:
        """Prove who we are; also again, when the session's time is over."""
        sasl = self._settings.sasl
        assert sasl is not None
        self._session = None
        version = self.version(Api.SASL_AUTHENTICATE, *_SASL_AUTHENTICATE)
        lifetime_ms = 0

        def exchange(data: bytes) -> bytes:
            nonlocal lifetime_ms
            answer = self.call(
                Api.SASL_AUTHENTICATE, {"auth_bytes": data}, deadline, oldest=version, newest=version
            )
            if answer.error_code:
                why = answer.error_message or error_code(answer.error_code).name
                raise self._broken(NotAuthenticated(f"the broker at {self.address} refused: {why}"))
            lifetime_ms = messages.milliseconds(getattr(answer, "session_lifetime", None) or 0)
            return bytes(answer.auth_bytes)

        self._agree_on(sasl.mechanism, deadline)
        try:
            authenticate(sasl, exchange)
        except AuthenticationFailed as failure:
            raise self._broken(NotAuthenticated(f"the broker at {self.address}: {failure}")) from None
        except Disconnected as lost:
            # A broker may close the connection instead of an answer; asking again would not help.
            raise NotAuthenticated(f"the broker at {self.address} refused {sasl.mechanism}: {lost}") from None
        if lifetime_ms:
            self._session = Deadline(lifetime_ms / 1000 * _SESSION_SHARE)

    def _agree_on(self, mechanism: str, deadline: Deadline) -> None:
        answer = self.call(
            Api.SASL_HANDSHAKE,
            {"mechanism": mechanism},
            deadline,
            oldest=_SASL_HANDSHAKE,
            newest=_SASL_HANDSHAKE,
        )
        if answer.error_code:
            offered = ", ".join(answer.mechanisms) or "no SASL at all"
            raise self._broken(
                NotAuthenticated(f"the broker at {self.address} does not offer {mechanism}, but {offered}")
            )

    def _receive_exactly(self, size: int, deadline: Deadline) -> bytearray:
        frame = bytearray(size)
        try:
            self._transport.receive_into(memoryview(frame), deadline)
        except OSError as error:
            raise self._failed(error, deadline) from None
        return frame

    def _failed(self, error: OSError, deadline: Deadline) -> WireError:
        if isinstance(error, TimeoutError):
            return self._broken(
                DeadlineExceeded(f"the broker at {self.address} did not answer in {deadline.seconds:.1f} s")
            )
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            # In TLS 1.3 a server refuses our certificate when the handshake is over for us.
            return self._broken(NotAuthenticated(f"{self.address} refuses our certificate: {error.reason}"))
        hint = "" if self._was_served else _hint(self._settings)
        return self._broken(
            Disconnected(f"the connection to the broker at {self.address} broke: {error}{hint}")
        )

    def _broken(self, error: WireError) -> WireError:
        self.close()
        return error


def _hint(settings: ClientSettings) -> str:
    """What a broker that ends a connection before its first answer may want."""
    if settings.sasl is not None:
        return "" if settings.tls is not None else ". Does the listener want TLS (SASL_SSL)?"
    if settings.tls is not None:
        return ". Does the listener want a certificate (ssl.keystore.location) or a password (SASL_SSL)?"
    return ". Does the listener want TLS or a password (security.protocol, sasl.mechanism)?"


def _open(address: Address, settings: ClientSettings, deadline: Deadline) -> Transport:
    """A connected transport, TLS's handshake included."""
    patience = max(deadline.sooner(CONNECT_SECONDS).remaining(), 0.001)
    try:
        sock = socket.create_connection(address, timeout=patience)
    except OSError as error:
        raise Unreachable(
            f"no broker answers at {address} ({error}): is it running, and is this its address?"
        ) from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if settings.tls is None:
        return PlainTransport(sock)
    try:
        return TlsTransport(client_context(settings.tls).wrap_socket(sock, server_hostname=address.host))
    except ssl.SSLCertVerificationError as error:
        sock.close()
        raise NotAuthenticated(f"the certificate of {address} is refused: {error.verify_message}") from None
    except (KeystoreError, ssl.SSLError) as error:
        sock.close()
        raise NotAuthenticated(
            f"no TLS with {address}: {getattr(error, 'reason', None) or error}. Is it a TLS listener?"
        ) from None
    except OSError as error:
        sock.close()
        raise Unreachable(
            f"{address} does not finish TLS's handshake: {error}. Is it a TLS listener?"
        ) from None
