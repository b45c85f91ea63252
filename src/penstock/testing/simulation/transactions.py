"""A run of one broker with transactional producers: they commit, abort, lose their connections, are replaced
by others under the same transactional id, and never know whether an answer that did not come was a yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing.history import History, Recorder, assert_kept
from penstock.testing.history.events import (
    Abort,
    Acked,
    Begin,
    Commit,
    Done,
    Isolation,
    Partition,
    Send,
    Value,
)
from penstock.testing.simulation.broker import SimulatedBroker
from penstock.testing.simulation.network import ClientConnection
from penstock.testing.simulation.one_node import PARTITIONS, TOPIC, OneNodeRun
from penstock.testing.simulation.transactional_identity import TransactionalIdentity
from penstock.testing.simulation.world import World

PAUSE_MS: Final = 40.0
RETRY_MS: Final = 50.0
TIMEOUT_MS: Final = 5000
COMMITS: Final = 0.7  # of all transactions
TAKEOVERS: Final = 0.3  # of what breaks while the broker lives
IDS: Final = ("tx-classic", "tx-second")
FENCED: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)


class TransactionalClient:
    """Writes to every partition in each transaction. After a lost answer it takes a new epoch and goes on;
    once it is fenced, it is silent. Version 2 adds partitions by writing to them and gets an epoch with
    each end."""

    def __init__(
        self, world: World, broker: SimulatedBroker, recorder: Recorder, name: str, transactional_id: str
    ) -> None:
        self.committed = 0
        self.fenced = False
        self.idle = False
        self._world = world
        self._recorder = recorder
        self._name = name
        self._id = transactional_id
        self._second = transactional_id.endswith("second")
        self._identity = TransactionalIdentity(transactional_id, TIMEOUT_MS)
        self._number = 0
        self._pending: list[int] = []  # operations whose end is not known yet
        self._stopped = False
        self._connection: ClientConnection | None = None
        self._connection = ClientConnection(world, broker, lambda: world.after(0, self._begin_anew))

    def stop(self) -> None:
        """Begin no new transaction."""
        self._stopped = True

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.cut()

    def _begin_anew(self) -> None:
        """Connected, for the first time or again: what was under way is unknown for ever."""
        for operation in self._pending:
            self._recorder.info(operation, "no answer")
        self._pending.clear()
        fields = {"key_type": 1, "coordinator_keys": [self._id]}
        self._ask(Api.FIND_COORDINATOR, 4, fields, lambda _: self._initialise())

    def _initialise(self) -> None:
        self._ask(Api.INIT_PRODUCER_ID, 4, self._identity.init_fields(), self._initialised)

    def _initialised(self, answer: Any) -> None:
        if int(answer.error_code) != ErrorCode.NONE:
            self._world.after(RETRY_MS, self._initialise)
            return
        self._identity.take(answer)
        self._begin()

    def _begin(self) -> None:
        if self._stopped:
            self.idle = True
            return
        self._number += 1
        self._recorder.ok(self._recorder.invoke(self._name, Begin(self._number)), Done())
        if self._second:
            self._produce()
            return
        fields = self._identity.add_fields(TOPIC, range(PARTITIONS))
        self._ask(Api.ADD_PARTITIONS_TO_TXN, 3, fields, self._added)

    def _added(self, answer: Any) -> None:
        (topic,) = answer.results_by_topic_v3_and_below
        codes = {int(part.partition_error_code) for part in topic.results_by_partition}
        if codes == {ErrorCode.NONE}:
            self._produce()
        else:
            self._refused({ErrorCode(code) for code in codes})

    def _produce(self) -> None:
        count = self._world.random.randint(1, 3)
        batches = {index: self._batch(Partition(TOPIC, index), count) for index in range(PARTITIONS)}
        self._identity.sequence += count
        fields = self._identity.produce_fields(TOPIC, batches, timeout_ms=1000)
        self._ask(Api.PRODUCE, 12 if self._second else 9, fields, lambda answer: self._acked(answer, count))

    def _batch(self, partition: Partition, count: int) -> bytes:
        values = [Value(self._name, self._number, partition.number * 10 + index) for index in range(count)]
        self._pending += [self._recorder.invoke(self._name, Send(partition, value)) for value in values]
        return self._identity.batch(values, self._world.now_ms())

    def _acked(self, answer: Any, count: int) -> None:
        operations, self._pending = self._pending, []
        refusals = set()
        for part in answer.responses[0].partition_responses:
            mine = operations[part.index * count : (part.index + 1) * count]
            code = ErrorCode(int(part.error_code))
            for at, operation in enumerate(mine):
                if code is ErrorCode.NONE:
                    self._recorder.ok(operation, Acked(part.base_offset + at))
                else:
                    self._recorder.fail(operation, code.name)
            refusals |= {code} - {ErrorCode.NONE}
        if refusals:
            self._refused(refusals)
        else:
            self._world.after(self._world.random.uniform(0, PAUSE_MS), self._end)

    def _end(self) -> None:
        commit = self._world.random.random() < COMMITS
        request = Commit(self._number) if commit else Abort(self._number)
        self._pending.append(self._recorder.invoke(self._name, request))
        self._ask_end(commit)

    def _ask_end(self, commit: bool) -> None:
        fields = self._identity.end_fields(commit=commit)
        self._ask(Api.END_TXN, 5 if self._second else 3, fields, lambda answer: self._ended(answer, commit))

    def _ended(self, answer: Any, commit: bool) -> None:
        code = ErrorCode(int(answer.error_code))
        if code in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            self._world.after(RETRY_MS, lambda: self._ask_end(commit))
            return
        if code is not ErrorCode.NONE:
            self._refused({code})
            return
        (operation,) = self._pending
        self._pending.clear()
        self._recorder.ok(operation, Done())
        self.committed += commit
        if self._second:
            self._identity.take(answer)
        self._world.after(self._world.random.uniform(0, PAUSE_MS), self._begin)

    def _refused(self, codes: set[ErrorCode]) -> None:
        """The transaction is lost; unless the id is, a new epoch begins the next one."""
        for operation in self._pending:
            self._recorder.info(operation, "refused")
        self._pending.clear()
        if codes & FENCED:
            self.fenced = self.idle = True
        else:
            self._world.after(RETRY_MS, self._initialise)

    def _ask(self, api: Api, version: int, fields: dict[str, Any], answer: Any) -> None:
        if self._connection is not None and not self.fenced:
            self._connection.request(api, version, fields, answer)


@dataclass(frozen=True, slots=True)
class TransactionsOutcome:
    """What a run amounted to, for people to read."""

    committed: int
    fenced: int
    kills: int
    power_cuts: int
    events: int


class TransactionsRun(OneNodeRun):
    """As `OneNodeRun`, with transactions: everybody reads what is committed, up to the very end of each
    partition, so that a transaction that hangs is noticed too."""

    isolation = Isolation.READ_COMMITTED

    def judge(self, duration_ms: float) -> TransactionsOutcome:
        history = self.play(duration_ms)
        assert_kept(history)
        assert all(client.idle for client in self._writers), "a producer was never answered"
        return TransactionsOutcome(
            sum(client.committed for client in self._writers),
            sum(client.fenced for client in self._writers),
            self._faults["kill"],
            self._faults["cut_power"],
            len(history.events),
        )

    def play(self, duration_ms: float) -> History:
        self._broker.start()
        self._create_topic()
        partitions = [Partition(TOPIC, index) for index in range(PARTITIONS)]
        self._writers: list[TransactionalClient] = []
        for transactional_id in IDS:
            self._appear(transactional_id)
        self._clients += [self._consumer(f"c{place.number}", place) for place in partitions]
        self._world.after(self._next_fault_ms(), self._fault)
        self._world.run(duration_ms, self.check_invariants)
        self._heal()
        return self._recorder.history([self._final_read(place) for place in partitions], [])

    def _appear(self, transactional_id: str) -> None:
        """A producer under this id; who was there before does not know yet."""
        name = f"{transactional_id}.{len(self._writers)}"
        client = TransactionalClient(self._world, self._broker, self._recorder, name, transactional_id)
        self._writers.append(client)
        self._clients.append(client)

    def _break_something(self) -> None:
        if self._world.random.random() < TAKEOVERS:
            self._appear(self._world.random.choice(IDS))
        else:
            super()._break_something()

    def _stop_writers(self) -> None:
        for client in self._writers:
            client.stop()
