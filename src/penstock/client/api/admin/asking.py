"""How an `Admin` asks: in a few threads of its own, at the broker that can answer, until a deadline.

Requests go over our own connection (`penstock.wire`), which has every API of Kafka's; librdkafka lacks many.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from penstock.client.api.admin.counting import RequestCounts
from penstock.client.api.admin.results import Keyed
from penstock.client.api.broker_errors import from_code, from_wire
from penstock.client.api.exceptions import IllegalStateException, KafkaException
from penstock.client.api.settings import admin_settings, wire_settings
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Connection
from penstock.wire.coordinators import Coordinator, Kind
from penstock.wire.deadline import Deadline, retrying
from penstock.wire.errors import Refused, WireError, error_code

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
R = TypeVar("R", bound=Keyed[Any, Any])

_THREADS: Final = 4
Versions = tuple[int, int]


class Asking:
    """What all calls share. `timeout` of a call is in seconds; without one it is `default.api.timeout.ms`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        own, given = admin_settings(settings)
        self._api_timeout: float = own["default.api.timeout.ms"] / 1000
        self._request_timeout: float = own["request.timeout.ms"] / 1000
        self._cluster = Cluster.of(wire_settings(given))
        self._threads = ThreadPoolExecutor(_THREADS, "penstock-admin")
        self._counts = RequestCounts()
        self._closed = False

    def close(self) -> None:
        """Wait for the calls that are under way, then end."""
        self._closed = True
        self._threads.shutdown()
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def metrics(self) -> dict[str, float]:
        """Java's names; a snapshot."""
        return self._counts.metrics()

    # For the calls

    def _one(self, doing: str, work: Callable[[Deadline], T], timeout: float | None) -> Future[T]:
        """A future of what `work` returns."""
        made: Future[T] = Future()

        def run(deadline: Deadline) -> None:
            try:
                made.set_result(work(deadline))
            except Exception as error:
                made.set_exception(_translated(error, doing))

        self._start(run, timeout)
        return made

    def _each(
        self, result: R, doing: str, work: Callable[[Deadline], Mapping[Any, Any]], timeout: float | None
    ) -> R:
        """`result`, ended with the answers of `work`: for each key its value or an exception."""

        def run(deadline: Deadline) -> None:
            try:
                result.end(work(deadline))
            except Exception as error:
                result.fail(_translated(error, doing))

        self._start(run, timeout)
        return result

    def _start(self, run: Callable[[Deadline], None], timeout: float | None) -> None:
        if self._closed:
            raise IllegalStateException("This Admin is closed.")
        self._threads.submit(run, Deadline(self._api_timeout if timeout is None else timeout))

    def _ask(
        self,
        api: Api,
        fields: Mapping[str, Any],
        versions: Versions,
        deadline: Deadline,
        node_id: int | None = None,
        codes: Callable[[Any], Iterable[int]] = lambda answer: (),
    ) -> Any:
        """The answer of that broker, or of any; a broker passes on what is the controller's to decide. Asked
        again while nobody answers, or while one of the `codes` in the answer says that this may help."""

        def attempt() -> Any:
            return self._ask_once(api, fields, versions, deadline, node_id, codes)

        return retrying(deadline, api.name, attempt)

    def _ask_once(
        self,
        api: Api,
        fields: Mapping[str, Any],
        versions: Versions,
        deadline: Deadline,
        node_id: int | None,
        codes: Callable[[Any], Iterable[int]],
    ) -> Any:
        lent = (
            self._cluster.any_connection(deadline)
            if node_id is None
            else self._cluster.connection(node_id, deadline)
        )
        with lent as connection:
            answer = self._call(connection, api, fields, versions, deadline)
        for number in codes(answer):
            code = error_code(number)
            if code in _PASSING:
                raise Refused(code, f"the broker says {code.name}")
        return answer

    def _of_all_brokers(
        self, api: Api, fields: Mapping[str, Any], versions: Versions, deadline: Deadline
    ) -> dict[int, Any]:
        """The answers of all brokers, whose coordinators each know a part of the whole. All are asked again
        while a coordinator is still loading, and when brokers came or went meanwhile: what one had led may
        then be led by another that was asked before."""

        def attempt() -> dict[int, Any]:
            asked = self._cluster.brokers(deadline)
            found = {
                node_id: self._ask_once(api, fields, versions, deadline, node_id, _own_code)
                for node_id in asked
            }
            if self._cluster.brokers(deadline) != asked:
                raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "brokers came or went meanwhile")
            return found

        return retrying(deadline, api.name, attempt)

    def _call(
        self,
        connection: Connection,
        api: Api,
        fields: Mapping[str, Any],
        versions: Versions,
        deadline: Deadline,
    ) -> Any:
        limit = deadline.sooner(self._request_timeout)
        began = time.monotonic()
        self._counts.sent()
        answer = connection.call(api, fields, limit, oldest=versions[0], newest=versions[1])
        self._counts.answered(time.monotonic() - began)
        return answer

    def _at_coordinator(
        self,
        kind: Kind,
        key: str,
        api: Api,
        fields: Mapping[str, Any],
        versions: Versions,
        deadline: Deadline,
        code: Callable[[Any], int] = lambda answer: 0,
    ) -> Any:
        """The answer of the broker that coordinates `key`; found anew where the answer's code says so."""
        coordinator = Coordinator(self._cluster, kind, key)
        return self._ask_coordinator(
            coordinator, f"{api.name} of {key!r}", api, fields, versions, deadline, code
        )

    def _ask_coordinator(
        self,
        coordinator: Coordinator,
        what: str,
        api: Api,
        fields: Mapping[str, Any],
        versions: Versions,
        deadline: Deadline,
        code: Callable[[Any], int],
    ) -> Any:
        """The same of a coordinator whose `node_id` says afterwards which broker it is."""

        def request(connection: Connection) -> Any:
            answer = self._call(connection, api, fields, versions, deadline)
            found = error_code(code(answer))
            if found is not ErrorCode.NONE and KafkaError(found).retriable:
                raise Refused(found, f"the coordinator says {found.name}")
            return answer

        return coordinator.ask(what, request, deadline)

    def _at_leaders(
        self,
        partitions: Iterable[TopicPartition],
        ask: Callable[[int, list[TopicPartition]], Mapping[TopicPartition, Any]],
        deadline: Deadline,
    ) -> dict[TopicPartition, Any]:
        """Answers by partition, each from its leader. A `Refused` among them is asked again where that may
        help, and leaves as an exception of this client."""
        left = list(dict.fromkeys(TopicPartition(*each) for each in partitions))
        found: dict[TopicPartition, Any] = {}

        def attempt() -> None:
            problem: Refused | None = None
            for node_id, led in self._by_leader(left, deadline).items():
                for at, answer in ask(node_id, led).items():
                    if isinstance(answer, Refused) and answer.retriable:
                        problem = answer
                        self._cluster.forget(at.topic)
                        continue
                    found[at] = _exception(answer)
                    left.remove(at)
            if problem is not None:
                raise problem

        retrying(deadline, "leaders of partitions", attempt)
        return found

    def _by_leader(
        self, partitions: Iterable[TopicPartition], deadline: Deadline
    ) -> dict[int, list[TopicPartition]]:
        grouped: dict[int, list[TopicPartition]] = defaultdict(list)
        for at in partitions:
            grouped[self._cluster.leader(at, deadline).node_id].append(at)
        return grouped


_PASSING: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)


def _own_code(answer: Any) -> tuple[int, ...]:
    return (answer.error_code,)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = defaultdict(list)
    for at in partitions:
        grouped[at[0]].append(at[1])
    return grouped


def failure(part: Any, doing: str) -> KafkaException | None:
    """The exception for a part of an answer that has an error code; None where it has none."""
    code = error_code(part.error_code)
    if code is ErrorCode.NONE:
        return None
    return from_code(code, doing, getattr(part, "error_message", None))


def check(part: Any, doing: str) -> None:
    """Raises for a part of an answer that has an error code."""
    if (error := failure(part, doing)) is not None:
        raise error


def refusal(part: Any, what: str) -> Refused | None:
    """The same for a part that may be asked for again."""
    code = error_code(part.error_code)
    if code is ErrorCode.NONE:
        return None
    return Refused(code, getattr(part, "error_message", None) or f"{what}: the broker says {code.name}")


def _exception(answer: Any) -> Any:
    return from_wire(answer, "ask the leader") if isinstance(answer, Refused) else answer


def _translated(error: Exception, doing: str) -> Exception:
    return from_wire(error, doing) if isinstance(error, WireError) else error
