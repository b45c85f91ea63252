"""Transactional producers of a simulated cluster: their coordinator moves, leaders of their partitions move,
and another producer may appear under the same id at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing.history.events import Abort, Acked, Begin, Commit, Done, Send, Value
from penstock.testing.history.recorder import Recorder
from penstock.testing.simulation.cluster.coordinator_client import PASSING, TRANSACTION, CoordinatorClient
from penstock.testing.simulation.cluster.metadata import ClusterClient
from penstock.testing.simulation.transactional_identity import TransactionalIdentity

COMMITS: Final = 0.7  # of all transactions
PAUSE_MS: Final = 60.0
TIMEOUT_MS: Final = 4_000
PRODUCE_TIMEOUT_MS: Final = 1_500
FENCED: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)
"""The transaction is over, by its timeout or because somebody else has come."""
TRIED_AGAIN: Final = PASSING | {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


class TransactionalProducer:
    """Writes to all partitions in each transaction. With `second` it speaks transaction version 2: partitions
    are added by writing to them, and each end gives an epoch. Without, an end that has no answer is followed
    by a new epoch, because the request may still arrive."""

    def __init__(
        self,
        clients: Sequence[ClusterClient],
        recorder: Recorder,
        transactional_id: str,
        *,
        second: bool,
        at_an_end: Callable[[], None],
    ) -> None:
        self.acked = 0
        """Transactions whose commit was acknowledged."""
        self.idle = False
        self.replaced = False
        """Whether another producer has appeared under this id: then the first refusal is the end."""
        self.name = clients[0].name
        self._second = second
        self._at_an_end = at_an_end
        self._clients = clients
        self._recorder = recorder
        self._coordinator = CoordinatorClient(clients[0], TRANSACTION, transactional_id)
        self._identity = TransactionalIdentity(transactional_id, TIMEOUT_MS)
        self._number = 0
        self._attempt = 0  # at a transaction: what belongs to an earlier one is not listened to
        self._open: list[int] = []  # operations whose end is not known yet
        self._unwritten = 0  # partitions without an acknowledgement
        self._stopped = False
        self._later(self._initialise)

    def stop(self) -> None:
        """Begin no new transaction."""
        self._stopped = True

    def cut(self) -> None:
        self._clients[0].random.choice(self._clients).cut()

    def _later(self, step: Callable[[], None]) -> None:
        attempt = self._attempt
        self._clients[0].later(lambda: step() if attempt == self._attempt else None, PAUSE_MS)

    def _ask(
        self,
        api: Api,
        version: int,
        fields: dict[str, Any],
        answered: Callable[[Any], None],
        lost: Callable[[], None],
    ) -> None:
        attempt = self._attempt
        self._coordinator.call(
            api,
            version,
            fields,
            lambda response: answered(response) if attempt == self._attempt else None,
            lambda: self._later(lost) if attempt == self._attempt else None,
        )

    def _begin_anew(self) -> None:
        """What became of the transaction is not known here, or never will be."""
        for operation in self._open:
            self._recorder.info(operation, "the transaction was given up")
        self._open.clear()
        self._attempt += 1
        if self.replaced:
            self.idle = True
        else:
            self._later(self._initialise)

    def _refused(self, code: ErrorCode, again: Callable[[], None]) -> None:
        if code in TRIED_AGAIN:
            self._coordinator.forget()
            self._later(again)
        elif code in FENCED:
            self._begin_anew()
        else:
            raise AssertionError(f"a transactional producer was refused: {self.name}: {code.name}")

    def _initialise(self) -> None:
        def answered(response: Any) -> None:
            code = ErrorCode(int(response.error_code))
            if code is ErrorCode.NONE:
                self._identity.take(response)
                self._begin()
            else:
                self._refused(code, self._initialise)

        if self._stopped:
            self.idle = True
        else:
            self._ask(Api.INIT_PRODUCER_ID, 4, self._identity.init_fields(), answered, self._initialise)

    def _begin(self) -> None:
        if self._stopped:
            self.idle = True
            return
        self._number += 1
        self._recorder.ok(self._recorder.invoke(self.name, Begin(self._number)), Done())
        if self._second:
            self._write()
        else:
            self._add()

    def _add(self) -> None:
        places = [client.partition for client in self._clients]
        fields = self._identity.add_fields(places[0].topic, (place.number for place in places))

        def answered(response: Any) -> None:
            (topic,) = response.results_by_topic_v3_and_below
            codes = {ErrorCode(int(part.partition_error_code)) for part in topic.results_by_partition}
            refusals = sorted(codes - {ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED})
            if refusals:
                self._refused(refusals[0], self._add)
            else:
                self._write()

        self._ask(Api.ADD_PARTITIONS_TO_TXN, 3, fields, answered, self._add)

    # Writing

    def _write(self) -> None:
        count = self._clients[0].random.randint(1, 3)
        self._unwritten = len(self._clients)
        for client in self._clients:
            values = [
                Value(self.name, self._number, client.partition.number * 10 + index) for index in range(count)
            ]
            operations = [self._recorder.invoke(self.name, Send(client.partition, value)) for value in values]
            self._open += operations
            self._send(client, operations, self._identity.batch(values, client.now_ms()))
        self._identity.sequence += count

    def _send(self, client: ClusterClient, operations: list[int], data: bytes) -> None:
        attempt = self._attempt

        def send() -> None:
            if attempt != self._attempt:
                return
            if client.leader is None:
                client.refresh(send)
                return
            place = client.partition
            fields = self._identity.produce_fields(place.topic, {place.number: data}, PRODUCE_TIMEOUT_MS)
            link = client.link(client.leader)
            link.call(Api.PRODUCE, 12 if self._second else 9, fields, answered, again)

        def again() -> None:
            client.leader = None
            client.later(send)

        def answered(response: Any) -> None:
            result = response.responses[0].partition_responses[0]
            code = ErrorCode(int(result.error_code))
            if attempt != self._attempt:
                return
            if code in TRIED_AGAIN:
                again()
            elif code is not ErrorCode.NONE:
                self._refused(code, self._begin_anew)
            else:
                self._written(operations, int(result.base_offset))

        send()

    def _written(self, operations: list[int], base_offset: int) -> None:
        for index, operation in enumerate(operations):
            self._recorder.ok(operation, Acked(base_offset + index))
            self._open.remove(operation)
        self._unwritten -= 1
        if not self._unwritten:
            self._later(self._end)

    # The end

    def _end(self) -> None:
        commit = self._clients[0].random.random() < COMMITS
        request = Commit(self._number) if commit else Abort(self._number)
        self._open.append(self._recorder.invoke(self.name, request))
        self._at_an_end()
        self._ask_end(commit)

    def _ask_end(self, commit: bool) -> None:
        fields = self._identity.end_fields(commit=commit)

        def again() -> None:
            self._ask_end(commit)

        def answered(response: Any) -> None:
            code = ErrorCode(int(response.error_code))
            if code is ErrorCode.NONE:
                self._ended(response, commit)
            else:
                self._refused(code, again)

        version, lost = (5, again) if self._second else (3, self._begin_anew)
        self._ask(Api.END_TXN, version, fields, answered, lost)

    def _ended(self, response: Any, commit: bool) -> None:
        self._recorder.ok(self._open.pop(), Done())
        self.acked += commit
        if self._second:
            self._identity.take(response)
        self._later(self._begin)
