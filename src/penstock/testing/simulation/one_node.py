"""A run of one broker under faults: producers, consumers, kills, power cuts and broken connections; at the
end everything is read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.replication.partition import Partition as Served
from penstock.settings import BrokerSettings
from penstock.testing.history import History, Recorder, assert_kept
from penstock.testing.history.events import (
    FinalRead,
    Isolation,
    Partition,
    Poll,
    Polled,
    ReplicaLog,
    Watermarks,
)
from penstock.testing.simulation.broker import SimulatedBroker
from penstock.testing.simulation.clients import SimulatedConsumer, SimulatedProducer, records_of
from penstock.testing.simulation.network import ClientConnection
from penstock.testing.simulation.world import World

TOPIC: Final = "simulated"
PARTITIONS: Final = 2
PRODUCERS: Final = 3
DOWN_MS: Final = 700.0
HEAL_MS: Final = 20_000.0
AUDIT_MS: Final = 1000.0
AUDIT_ROUNDS: Final = 200
READ_BYTES: Final = 1 << 20


class Client(Protocol):
    def cut(self) -> None:
        """Break its connection."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run amounted to, for people to read."""

    steps: int
    acked: int
    kills: int
    power_cuts: int
    broken_connections: int
    events: int


class OneNodeRun:
    """`run` plays it and raises AssertionError where a promise was broken; `play` gives the history alone.

    A power cut is survived by what was synced, so the broker flushes before it acknowledges
    (`log.flush.interval.messages=1`) when `power_cuts` are wanted, unless `flush` says otherwise; a killed
    process loses nothing either way.
    """

    isolation = Isolation.READ_UNCOMMITTED
    """Of all who read."""

    def __init__(self, seed: int, *, power_cuts: bool, flush: bool | None = None) -> None:
        self._world = World(seed)
        self._power_cuts = power_cuts
        texts = {
            "log.dirs": "/data",
            "listeners": "PLAINTEXT://broker:9092",
            "log.segment.bytes": "4096",
            "log.index.interval.bytes": "256",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
        }
        if power_cuts if flush is None else flush:
            texts["log.flush.interval.messages"] = "1"
        self._broker = SimulatedBroker(self._world, BrokerSettings.from_texts(texts))
        self._recorder = Recorder(clock=self._world)
        self._producers: list[SimulatedProducer] = []
        self._consumers: list[SimulatedConsumer] = []
        self._clients: list[Client] = []
        self._high_watermarks: dict[int, int] = {}
        self._faults = {"kill": 0, "cut_power": 0, "cut_connection": 0}
        self._faulty = True

    def run(self, duration_ms: float) -> Outcome:
        history = self.play(duration_ms)
        assert_kept(history)
        refusals = [producer.refusal for producer in self._producers if producer.refusal]
        assert not refusals, f"producers were refused: {refusals}"
        assert all(producer.idle for producer in self._producers), "a producer was never answered"
        return Outcome(
            self._world.steps,
            sum(producer.acked for producer in self._producers),
            self._faults["kill"],
            self._faults["cut_power"],
            self._faults["cut_connection"],
            len(history.events),
        )

    def play(self, duration_ms: float) -> History:
        """Load and faults, then healing, a clean restart and a full read of every partition."""
        self._broker.start()
        self._create_topic()
        partitions = [Partition(TOPIC, index) for index in range(PARTITIONS)]
        for number in range(PRODUCERS):
            place = partitions[number % PARTITIONS]
            self._producers.append(
                SimulatedProducer(self._world, self._broker, self._recorder, f"p{number}", place)
            )
        self._consumers += [self._consumer(f"c{place.number}", place) for place in partitions]
        self._clients = [*self._producers, *self._consumers]
        self._world.after(self._next_fault_ms(), self._fault)
        self._world.run(duration_ms, self.check_invariants)
        self._heal()
        return self._recorder.history(
            [self._final_read(place) for place in partitions], [self._replica(place) for place in partitions]
        )

    def check_invariants(self) -> None:
        """After every step: the history gets each change of a high watermark; a log begins where it began."""
        if self._broker.node is None:
            return
        for partition in self._broker.node.broker.partitions:
            if partition.topic == TOPIC:
                self._watch(partition)
                assert partition.high_watermark <= partition.log.log_end_offset
                assert partition.log.log_start_offset == 0

    def _watch(self, partition: Served) -> None:
        high = partition.high_watermark
        if self._high_watermarks.get(partition.index) != high:
            self._high_watermarks[partition.index] = high
            operation = self._recorder.invoke("world", Poll())
            seen = Watermarks(Partition(TOPIC, partition.index), high)
            self._recorder.ok(operation, Polled((), (seen,)))

    def _consumer(self, name: str, partition: Partition) -> SimulatedConsumer:
        return SimulatedConsumer(self._world, self._broker, self._recorder, name, partition, self.isolation)

    def _create_topic(self) -> None:
        answers: list[Any] = []
        fields = {
            "topics": [
                {
                    "name": TOPIC,
                    "num_partitions": PARTITIONS,
                    "replication_factor": 1,
                    "assignments": (),
                    "configs": (),
                }
            ],
            "timeout": 1000,
            "validate_only": False,
        }
        connection = ClientConnection(self._world, self._broker, lambda: None)
        connection.request(Api.CREATE_TOPICS, 5, fields, answers.append)
        self._world.run(1000, self.check_invariants)
        assert int(answers[0].topics[0].error_code) == ErrorCode.NONE, answers

    def _next_fault_ms(self) -> float:
        return self._world.random.expovariate(1 / 800)

    def _fault(self) -> None:
        if not self._faulty:
            return
        kinds = ["kill", "cut_connection"] + (["cut_power"] if self._power_cuts else [])
        kind = self._world.random.choice(kinds)
        self._faults[kind] += 1
        if kind == "cut_connection":
            self._break_something()
            self._world.after(self._next_fault_ms(), self._fault)
            return
        if kind == "kill":
            self._broker.kill()
        else:
            self._broker.cut_power()
        self._world.after(self._world.random.uniform(0, DOWN_MS), self._restart)

    def _break_something(self) -> None:
        """What can go wrong while the broker lives."""
        self._world.random.choice(self._clients).cut()

    def _restart(self) -> None:
        self._broker.start()
        self._world.after(self._next_fault_ms(), self._fault)

    def _heal(self) -> None:
        """No more faults; producers finish what they began, consumers read to the end. Then a clean
        restart."""
        self._faulty = False
        self._stop_writers()
        if self._broker.node is None:
            self._world.run(DOWN_MS, self.check_invariants)
        self._world.run(HEAL_MS, self.check_invariants)
        self._broker.shut_down()
        self._broker.start()
        self._world.run(HEAL_MS, self.check_invariants)

    def _stop_writers(self) -> None:
        for producer in self._producers:
            producer.stop()

    def _final_read(self, partition: Partition) -> FinalRead:
        """A new consumer reads from the beginning to the high watermark."""
        auditor = self._consumer(f"auditor{partition.number}", partition)
        high_watermark = self._served(partition).high_watermark
        for _ in range(AUDIT_ROUNDS):
            self._world.run(AUDIT_MS, self.check_invariants)
            if auditor.position >= high_watermark:
                break
        assert auditor.position >= high_watermark, f"{partition} cannot be read beyond {auditor.position}"
        return FinalRead(partition, tuple(auditor.records), high_watermark, self.isolation)

    def _replica(self, partition: Partition) -> ReplicaLog:
        """What is in the files, without the way through a fetch."""
        served = self._served(partition)
        records, offset = [], 0
        while (found := served.log.read(offset, READ_BYTES)) is not None:
            records += records_of(partition, found.read())
            offset = records[-1].offset + 1
        return ReplicaLog(partition, 0, tuple(records), served.high_watermark)

    def _served(self, partition: Partition) -> Served:
        assert self._broker.node is not None, "the broker is down at the end"
        return self._broker.node.broker.partitions.get(partition.topic, partition.number)
