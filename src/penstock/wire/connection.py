"""One connection to one broker: frames out, frames in, versions agreed once.

Requests may be sent before the answer to the one before has come; answers come in the order of the requests.
A connection belongs to one thread at a time (`Cluster` lends them) and is closed by the first thing that goes
wrong on it, because nobody knows what would come next.
"""

from __future__ import annotations

import select
import socket
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import MalformedMessage, Reader, Writer
from penstock.wire.deadline import Deadline
from penstock.wire.errors import (
    DeadlineExceeded,
    Disconnected,
    Malformed,
    Unreachable,
    Unsupported,
    WireError,
)

Buffer = bytes | bytearray | memoryview

# A fetch answers with one batch at least, whatever its size; this bounds what a broker can make us hold.
MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
_MOST_PARTS: Final = 512  # of one system call; the kernel's own limit is 1,024
_API_VERSIONS_NEWEST: Final = 3


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """`host:port`, with or without Kafka's `PLAINTEXT://` before it."""
        host, colon, port = text.strip().removeprefix("PLAINTEXT://").rpartition(":")
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

    def __init__(self, address: Address, deadline: Deadline, *, client_id: str = "penstock") -> None:
        self.address = address
        self.closed = False
        self._client_id = client_id
        self._next_correlation_id = 0
        self._awaited: deque[_Awaited] = deque()
        try:
            patience = deadline.sooner(CONNECT_SECONDS).remaining()
            self._socket = socket.create_connection(address, timeout=max(patience, 0.001))
        except OSError as error:
            raise Unreachable(
                f"no broker answers at {address} ({error}): is it running, and is this its address?"
            ) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._versions, self._features = self._ask_versions(deadline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.closed = True
        self._socket.close()

    def interrupt(self) -> None:
        """Let whoever waits for an answer here see the end of the connection. Any thread may call it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    @property
    def idle(self) -> bool:
        """Whether it can be used for something new: open at both ends and no answer outstanding."""
        if self.closed or self._awaited:
            return False
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)  # an end of file, or bytes that nobody asked for
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

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
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        header = Writer(flexible=False)
        header.int16(api)
        header.int16(version)
        header.int32(self._next_correlation_id)
        header.nullable_string(self._client_id)
        if is_flexible(api, version):
            header.data += b"\x00"  # no tagged fields; the client id is never compact
        size = len(header.data) + sum(len(part) for part in body)
        self._send_all([struct.pack(">i", size), header.data, *body], deadline)
        self._awaited.append(_Awaited(self._next_correlation_id, api, version))

    def has_answer(self, seconds: float) -> bool:
        """Whether an answer begins to arrive within this time, or the end of the connection does."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def receive(self, deadline: Deadline) -> memoryview:
        """The body of the answer to the oldest request that still awaits one."""
        awaited = self._awaited.popleft()
        (size,) = struct.unpack(">i", self._receive_exactly(4, deadline))
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

    def _send_all(self, parts: Sequence[Buffer], deadline: Deadline) -> None:
        pending = deque(memoryview(part) for part in parts if len(part))
        try:
            while pending:
                self._socket.settimeout(self._patience(deadline))
                sent = self._socket.sendmsg(
                    [pending[index] for index in range(min(len(pending), _MOST_PARTS))]
                )
                while sent:
                    if sent < len(pending[0]):
                        pending[0] = pending[0][sent:]
                        break
                    sent -= len(pending.popleft())
        except OSError as error:
            raise self._failed(error, deadline) from None

    def _receive_exactly(self, size: int, deadline: Deadline) -> bytearray:
        frame = bytearray(size)
        view = memoryview(frame)
        try:
            while view:
                self._socket.settimeout(self._patience(deadline))
                count = self._socket.recv_into(view)
                if count == 0:
                    raise ConnectionError("closed by the broker")
                view = view[count:]
        except OSError as error:
            raise self._failed(error, deadline) from None
        return frame

    def _patience(self, deadline: Deadline) -> float:
        remaining = deadline.remaining()
        if remaining <= 0.0:
            raise TimeoutError
        return remaining

    def _failed(self, error: OSError, deadline: Deadline) -> WireError:
        if isinstance(error, TimeoutError):
            return self._broken(
                DeadlineExceeded(f"the broker at {self.address} did not answer in {deadline.seconds:.1f} s")
            )
        return self._broken(Disconnected(f"the connection to the broker at {self.address} broke: {error}"))

    def _broken(self, error: WireError) -> WireError:
        self.close()
        return error
