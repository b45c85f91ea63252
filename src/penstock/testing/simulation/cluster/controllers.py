"""The ways between nodes for the metadata, over simulated links: Raft's requests to the other voters, and
those of brokers to the active controller. What `server.cluster.quorum_driver`,
`server.cluster.quorum_peers` and `server.cluster.controller_channel` do with threads and sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import Controller
from penstock.controller.membership import Membership
from penstock.coordinator.promise import Promise
from penstock.handlers.quorum.messages import VERSIONS, api_of, encode_request, read_response
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import read_response as read_any_response
from penstock.raft.messages import Request
from penstock.server.cluster.broker_life import SOON_SECONDS, BrokerLife
from penstock.server.cluster.decoded_channel import DecodedChannel
from penstock.server.cluster.quorum_peers import lost
from penstock.testing.simulation.cluster.links import Link
from penstock.testing.simulation.cluster.process import Process

MEMBERSHIP_MS: Final = 100.0
RETRY_MS: Final = 30.0
ATTEMPT_MS: Final = 1_000.0
ASK_MS: Final = 5_000.0
LATE: Final = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no answer in time")


class SimulatedQuorum:
    """Keeps Raft's time, carries its messages, and lets the node follow what is committed."""

    def __init__(
        self,
        process: Process,
        controller: Controller,
        membership: Membership,
        links: Mapping[int, Link],
        cluster_id: str,
    ) -> None:
        self._process = process
        self._controller = controller
        self._membership = membership
        self._links = links
        self._cluster_id = cluster_id
        self._timer = 0
        self._following = False
        controller.quorum.post = self._post
        controller.on_news = self._on_news
        self._tick()
        self._watch_brokers()

    def _post(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._send(request)

    def _send(self, request: Request) -> None:
        api = api_of(request)
        self._links[request.destination].ask(
            api,
            VERSIONS[api],
            encode_request(request, self._cluster_id),
            lambda data: self._controller.step(read_response(request, data)),
            lambda: self._failed(request),
            ATTEMPT_MS,
        )

    def _failed(self, request: Request) -> None:
        answer = lost(request)
        if answer is not None:
            self._controller.step(answer)

    def _on_news(self) -> None:
        if not self._following:
            self._following = True
            self._process.after(0, self._follow)
        self._plan()

    def _follow(self) -> None:
        self._following = False
        self._controller.follow()

    def _tick(self) -> None:
        self._controller.tick()  # which is news

    def _plan(self) -> None:
        """Wake when Raft's next deadline has come; a plan that was made before is forgotten."""
        self._timer += 1
        timer = self._timer
        due_ms = self._controller.quorum.raft.next_deadline_ms() - self._process.monotonic() * 1000
        self._process.after(max(1.0, due_ms), lambda: self._tick() if timer == self._timer else None)

    def _watch_brokers(self) -> None:
        self._membership.tick()
        self._process.after(MEMBERSHIP_MS, self._watch_brokers)


class SimulatedChannel:
    """A `ControllerChannel`: asks whoever is the active controller, again and again until the time is
    over."""

    def __init__(self, process: Process, links: Mapping[int, Link], controller: Controller) -> None:
        self._process = process
        self._links = links
        self._controller = controller

    def ask(self, api: Api, version: int, body: bytes) -> Promise[bytes]:
        promise: Promise[bytes] = Promise()
        deadline = self._process.monotonic() + ASK_MS / 1000

        def attempt() -> None:
            active = self._controller.active_id
            if self._process.monotonic() >= deadline:
                promise.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no controller has answered in time"))
            elif active is None:
                again()
            else:
                self._links[active].ask(api, version, body, answered, again, ATTEMPT_MS)

        def again() -> None:
            self._process.after(RETRY_MS, attempt)

        def answered(data: bytes) -> None:
            if int(read_any_response(api, version, data).error_code) == ErrorCode.NOT_CONTROLLER:
                again()
            else:
                promise.complete(data)

        attempt()
        return promise


class SimulatedLife:
    """What `server.cluster.life_thread:LifeThread` does: one request at a time to the active controller,
    and the logs are opened when it is time."""

    def __init__(self, process: Process, life: BrokerLife, channel: ControllerChannel) -> None:
        self._process = process
        self._life = life
        self._channel = DecodedChannel(channel)
        self._number = 0
        self._left: Callable[[], None] = lambda: None
        self._turn()
        self._open()

    @property
    def serves(self) -> bool:
        return self._life.serves

    def leave(self, left: Callable[[], None]) -> None:
        """Give everything away; `left` is told when that is done."""
        self._life.leaving = True
        self._left = left

    def _open(self) -> None:
        if self._life.may_open:
            self._life.open()
        else:
            self._process.after(SOON_SECONDS * 1000, self._open)

    def _turn(self) -> None:
        said = self._life.next_request()
        promise = self._channel.ask(*said)
        self._number += 1
        number = self._number

        def settle(outcome: Callable[[], float]) -> None:
            if number != self._number:
                return  # late: it is settled
            self._number += 1
            pause = outcome()
            assert self._life.failure is None, f"a broker gives up: {self._life.failure}"
            if self._life.is_over:
                self._left()
            else:
                self._process.after(pause * 1000, self._turn)

        def answer() -> float:
            try:
                return self._life.answered(said, promise.result())
            except KafkaError as error:
                return self._life.failed(error)

        promise.watch(Wakes(lambda: self._process.after(0, lambda: settle(answer))))
        self._process.after(
            self._life.patience_seconds * 1000, lambda: settle(lambda: self._life.failed(LATE))
        )


class Wakes:
    """A waiter that does something."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
