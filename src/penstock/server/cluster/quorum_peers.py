"""The quorum's requests on their way to other nodes: a lane for each peer and kind, with its thread and
connection.

A fetch is held at the leader for a while, so votes and announcements have a lane of their own. What cannot
be sent is lost, and Raft asks again in its time; only a fetch that failed is told, so that the next one
need not wait for the deadline of the lost one.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Final

from penstock.clock import Clock
from penstock.handlers.quorum.messages import VERSIONS, api_of, encode_request, read_response
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage
from penstock.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
)
from penstock.security.client_settings import ClientSettings
from penstock.wire.connection import PLAINTEXT, Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

_MAX_WAITING: Final = 16
_CLOSE_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)

Step = Callable[[Response], None]


class QuorumPeers:
    """The way to the other voters."""

    def __init__(
        self,
        addresses: Mapping[int, Address],
        cluster_id: str,
        clock: Clock,
        timeout_ms: int,
        step: Step,
        security: ClientSettings = PLAINTEXT,
    ) -> None:
        self._addresses = addresses
        self._security = security
        self._cluster_id = cluster_id
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._step = step
        self._lanes: dict[tuple[int, bool], _Lane] = {}
        self._heard: dict[int, float] = {}  # when each voter last answered
        self._closed = False

    def post(self, requests: Sequence[Request]) -> None:
        """Never blocks. Called under the controller's lock: one at a time."""
        for request in requests:
            key = request.destination, isinstance(request, FetchRequest | FetchSnapshotRequest)
            lane = self._lanes.get(key)
            if lane is None and not self._closed:
                lane = self._lanes[key] = _Lane(
                    self._addresses[request.destination],
                    self._cluster_id,
                    self._clock,
                    self._timeout_ms,
                    self._step,
                    self._security,
                    partial(self._note_heard, request.destination),
                )
            if lane is not None:
                lane.post(request)

    def heard(self, seconds: float) -> frozenset[int]:
        """The voters that have answered within this time."""
        since = self._clock.monotonic() - seconds
        return frozenset(voter for voter, at in self._heard.copy().items() if at >= since)

    def _note_heard(self, voter: int) -> None:
        self._heard[voter] = self._clock.monotonic()

    def close(self) -> None:
        """What waits is still sent, within a bound: it may be a goodbye."""
        self._closed = True
        lanes = list(self._lanes.values())
        for lane in lanes:
            lane.close()
        for lane in lanes:
            lane.join()


class _Lane:
    """One request at a time to one peer."""

    def __init__(
        self,
        address: Address,
        cluster_id: str,
        clock: Clock,
        timeout_ms: int,
        step: Step,
        security: ClientSettings,
        on_answer: Callable[[], None],
    ) -> None:
        self._address = address
        self._security = security
        self._cluster_id = cluster_id
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._step = step
        self._on_answer = on_answer
        self._waiting: queue.Queue[tuple[float, Request] | None] = queue.Queue(_MAX_WAITING)
        self._connection: Connection | None = None
        self._closing = False
        self._thread = Thread(target=self._run, name=f"quorum-{address}", daemon=True)
        self._thread.start()

    def post(self, request: Request) -> None:
        try:
            self._waiting.put_nowait((self._clock.monotonic(), request))
        except queue.Full:
            _log.debug("%s is slow: a request of the quorum is lost", self._address)

    def close(self) -> None:
        self._closing = True
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            _log.debug("%s is slow: nothing more is sent", self._address)

    def join(self) -> None:
        self._thread.join(_CLOSE_SECONDS)
        if self._connection is not None:
            self._connection.close()

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            posted_at, request = item
            if (self._clock.monotonic() - posted_at) * 1000 > self._timeout_ms:
                continue  # too old to be of use
            answer = self._exchange(request)
            if answer is not None and not self._closing:
                try:
                    self._step(answer)
                except Exception:
                    _log.exception("an answer from %s could not be taken", self._address)

    def _exchange(self, request: Request) -> Response | None:
        held_ms = request.max_wait_ms if isinstance(request, FetchRequest) else 0
        deadline = Deadline((self._timeout_ms + held_ms) / 1000)
        api = api_of(request)
        try:
            if self._connection is None or self._connection.closed:
                self._connection = Connection(self._address, deadline, settings=self._security)
            self._connection.send(api, VERSIONS[api], [encode_request(request, self._cluster_id)], deadline)
            answer = read_response(request, bytes(self._connection.receive(deadline)))
            self._on_answer()
            return answer
        except (WireError, MalformedMessage, KafkaError) as error:
            _log.debug("%s to %s: %s", api.name, self._address, error)
            return lost(request)


def lost(request: Request) -> Response | None:
    """The answer that Raft gets for a request that was not answered, if it needs one."""
    if isinstance(request, FetchRequest):
        return FetchResponse(
            source=request.destination,
            destination=request.source,
            correlation_id=request.correlation_id,
            epoch=request.epoch,
            leader_id=None,
            error=ErrorCode.NETWORK_EXCEPTION,
        )
    if isinstance(request, FetchSnapshotRequest):
        return FetchSnapshotResponse(
            source=request.destination,
            destination=request.source,
            correlation_id=request.correlation_id,
            epoch=request.epoch,
            leader_id=None,
            error=ErrorCode.NETWORK_EXCEPTION,
            snapshot=request.snapshot,
        )
    return None
