"""Plain produce requests, served without the handlers: one batch for one partition that this broker leads
alone, outside of transactions, which is exactly what its log expects next.

`_plain_native` (Cython) does all of it without the GIL: receive, read, validate, append, answer, send. Any
other request is left in the buffer as it came, and goes the way of Python: `Session.handle`. So nothing is
decided here that the handlers do not decide alike, and no error is answered here. Requests, bytes and times
are counted natively, and `fold_counts` adds them when metrics are read.

Not plain, by `new_plain` and `PlainRequests.allow`: connections with SASL, of controllers, or of a broker
with an authorizer, and all of them while a quota of producers or of request time is set.

`PureConversation` is the twin that the simulator and tests use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from penstock.handlers.broker import Broker
from penstock.metrics.requests import TIMED_EVERY
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.header import read_request_header, response_header
from penstock.protocol.primitives import MalformedMessage
from penstock.protocol.produce import (
    TOPIC_IDS_FROM,
    PartitionResult,
    ProduceRequest,
    TopicResult,
    encode_response,
    read_request,
)
from penstock.records.batch import HEADER_SIZE
from penstock.security.authorizer import AllowAll
from penstock.storage.tail import PureTails

OLDEST: Final = 3
NEWEST: Final = 13
assert TIMED_EVERY == 8, "as in _plain_native"


class Conversation(Protocol):
    """The plain requests of one connection."""

    def serve(self, frame: memoryview) -> bytes | None:
        """The answer, header and body, to a request that is here as a whole, empty where none is wanted; None
        when Python has to serve it, and nothing has happened."""
        ...

    def converse(self, fd: int, answers: bytes, room: memoryview, start: int, end: int) -> tuple[int, int]:
        """Send `answers`, then serve plain requests that are in `room` from `start` to `end` and that come,
        until something else is needed: where the rest stands in `room` then. A negative number first says
        with which error sending failed; OSError when receiving did."""
        ...


class PlainRequests(Protocol):
    """One for all connections of a server."""

    def allow(self, is_allowed: bool) -> None: ...

    def take_counts(self) -> tuple[int, int, list[int], float]: ...


class PureConversation:
    """The same in Python, request by request."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def serve(self, frame: memoryview) -> bytes | None:
        try:
            (api_key, version, correlation_id, _), reader = read_request_header(frame)
            if api_key != Api.PRODUCE or not OLDEST <= version <= NEWEST:
                return None
            produce = read_request(reader, version)
            reader.tags()
        except MalformedMessage:
            return None
        found = self._append(version, produce) if reader.position == reader.end else None
        if found is None:
            return None
        if produce.acks == 0:
            return b""
        return response_header(Api.PRODUCE, version, correlation_id) + encode_response(version, [found])

    def _append(self, version: int, produce: ProduceRequest) -> TopicResult | None:
        if produce.transactional_id is not None or produce.acks not in (-1, 0, 1):
            return None
        if len(produce.topics) != 1 or len(produce.topics[0].partitions) != 1:
            return None
        name, topic_id, (data,) = produce.topics[0]
        tails = self._broker.partitions.tails
        assert isinstance(tails, PureTails)
        by_id = version >= TOPIC_IDS_FROM
        tail = tails.find(topic_id if by_id else name.encode(), data.partition, by_id=by_id)
        if tail is None or data.records is None or len(data.records) < HEADER_SIZE:
            return None
        if self._broker.quotas.limits_producers or not tail.accepts(
            data.records, self._broker.clock.now_ms()
        ):
            return None
        placed = tail.append(data.records)
        if placed is None:
            return None
        if placed.has_waiting:
            tail.wake()
        result = PartitionResult(
            data.partition,
            ErrorCode.NONE,
            placed.base_offset,
            log_start_offset=placed.log_start_offset,
        )
        return TopicResult(name, topic_id, [result])

    def converse(self, fd: int, answers: bytes, room: memoryview, start: int, end: int) -> tuple[int, int]:
        raise NotImplementedError("there are no sockets where this one is used")


def new_plain(broker: Broker) -> PlainRequests | None:
    """None without a compiler, and where every request has to be authorized."""
    if isinstance(broker.partitions.tails, PureTails) or not isinstance(broker.authorizer, AllowAll):
        return None
    try:
        native = import_module("penstock.server.connections._plain_native")
    except ImportError:
        return None
    plain: PlainRequests = native.Plain(broker.partitions.tails)
    quotas = broker.quotas
    quotas.on_update = lambda: plain.allow(not quotas.limits_producers)
    quotas.on_update()
    broker.metrics.before_reading.append(lambda: fold_counts(broker, plain))
    return plain


def new_conversation(plain: PlainRequests) -> Conversation:
    found: Conversation = import_module("penstock.server.connections._plain_native").Conversation(plain)
    return found


def fold_counts(broker: Broker, plain: PlainRequests) -> None:
    """Add what was counted natively."""
    requests = broker.metrics.requests[Api.PRODUCE]
    count, bytes_in, timed, seconds = plain.take_counts()
    requests.count += count
    requests.bytes_in += bytes_in
    requests.served.add(timed, seconds)


if TYPE_CHECKING:
    _checked: type[Conversation] = PureConversation
