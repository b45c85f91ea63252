"""Questions to other brokers, on behalf of coordinators: a few threads with a connection each for every
broker that is asked. The fetchers of replicas have connections of their own, and so has the way to the
controller."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping
from threading import Lock, Thread
from typing import Any, Final, NamedTuple

from penstock.coordinator.promise import Promise, failed
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.client_settings import ClientSettings
from penstock.wire.connection import PLAINTEXT, Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

LANES: Final = 4
MAX_WAITING: Final = 1000
ANSWER_SECONDS: Final = 5.0

_log = logging.getLogger(__name__)


class _Question(NamedTuple):
    api: Api
    versions: tuple[int, int]
    fields: Mapping[str, Any]
    promise: Promise[Any]

    def put(self, connection: Connection, deadline: Deadline) -> Any:
        oldest, newest = self.versions
        return connection.call(self.api, self.fields, deadline, oldest=oldest, newest=newest)


class Peers:
    """`ask` never waits. The promise fails when the broker cannot be asked, or does not answer in a few
    seconds: what was asked may have happened then."""

    def __init__(
        self,
        address_of: Callable[[int], Address | None],
        node_id: int,
        security: ClientSettings = PLAINTEXT,
    ) -> None:
        self._address_of = address_of
        self._security = security
        self._client_id = f"broker-{node_id}"
        self._lock = Lock()
        self._queues: dict[int, queue.Queue[_Question | None]] = {}
        self._closed = False

    def ask(
        self, node_id: int, api: Api, versions: tuple[int, int], fields: Mapping[str, Any]
    ) -> Promise[Any]:
        promise: Promise[Any] = Promise()
        try:
            self._queue(node_id).put_nowait(_Question(api, versions, fields, promise))
        except queue.Full:
            return failed(_unreachable(f"too many questions wait for broker {node_id}"))
        return promise

    def close(self) -> None:
        """What waits is given up."""
        with self._lock:
            self._closed = True
            queues = list(self._queues.values())
        for waiting in queues:
            for _ in range(LANES):
                if not waiting.full():
                    waiting.put_nowait(None)

    def _queue(self, node_id: int) -> queue.Queue[_Question | None]:
        with self._lock:
            waiting = self._queues.get(node_id)
            if waiting is None:
                waiting = self._queues[node_id] = queue.Queue(MAX_WAITING)
                for lane in range(LANES):
                    name = f"peer-{node_id}-{lane}"
                    Thread(target=self._run, args=(node_id, waiting), name=name, daemon=True).start()
            return waiting

    def _run(self, node_id: int, waiting: queue.Queue[_Question | None]) -> None:
        connection: Connection | None = None
        while (question := waiting.get()) is not None and not self._closed:
            deadline = Deadline(ANSWER_SECONDS)
            try:
                if connection is None or not connection.idle:
                    connection = self._connect(node_id, deadline)
                answer = question.put(connection, deadline)
            except WireError as error:
                connection = None
                question.promise.fail(_unreachable(str(error)))
            except Exception as error:
                connection = None
                _log.exception("%s to broker %d failed", question.api.name, node_id)
                question.promise.fail(_unreachable(str(error)))
            else:
                question.promise.complete(answer)

    def _connect(self, node_id: int, deadline: Deadline) -> Connection:
        address = self._address_of(node_id)
        if address is None:
            raise WireError(f"broker {node_id} is not registered")
        return Connection(address, deadline.sooner(1.0), client_id=self._client_id, settings=self._security)


def _unreachable(why: str) -> KafkaError:
    return KafkaError(ErrorCode.NETWORK_EXCEPTION, why)
