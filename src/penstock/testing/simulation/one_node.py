"""A run of one broker under faults: producers, consumers, kills, power cuts and broken connections; at the
end everything is read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.settings import BrokerSettings
from penstock.testing.simulation.broker import SimulatedBroker
from penstock.testing.simulation.clients import SimulatedConsumer, SimulatedProducer
from penstock.testing.simulation.network import ClientConnection
from penstock.testing.simulation.world import World

TOPIC: Final = "simulated"
PARTITIONS: Final = 2
PRODUCERS: Final = 3
DOWN_MS: Final = 700.0
HEAL_MS: Final = 20_000.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run amounted to, for people to read."""

    steps: int
    acked: int
    kills: int
    power_cuts: int
    broken_connections: int


class OneNodeRun:
    """`run` plays it and raises AssertionError where a promise was broken.

    A power cut is survived by what was synced, so the broker flushes before it acknowledges
    (`log.flush.interval.messages=1`) when `power_cuts` are wanted, unless `flush` says otherwise; a killed
    process loses nothing either way.
    """

    def __init__(self, seed: int, *, power_cuts: bool, flush: bool | None = None) -> None:
        self._world = World(seed)
        self._power_cuts = power_cuts
        texts = {
            "log.dirs": "/data",
            "listeners": "PLAINTEXT://broker:9092",
            "log.segment.bytes": "4096",
            "log.index.interval.bytes": "256",
        }
        if power_cuts if flush is None else flush:
            texts["log.flush.interval.messages"] = "1"
        self._broker = SimulatedBroker(self._world, BrokerSettings.from_texts(texts))
        self._producers: list[SimulatedProducer] = []
        self._consumers: list[SimulatedConsumer] = []
        self._clients: list[SimulatedProducer | SimulatedConsumer] = []
        self._high_watermarks: dict[int, int] = {}
        self._faults = {"kill": 0, "cut_power": 0, "cut_connection": 0}
        self._faulty = True

    def run(self, duration_ms: float) -> Outcome:
        self._broker.start()
        self._create_topic()
        for number in range(PRODUCERS):
            self._producers.append(
                SimulatedProducer(self._world, self._broker, f"p{number}", TOPIC, number % PARTITIONS)
            )
        self._consumers += [
            SimulatedConsumer(self._world, self._broker, TOPIC, index) for index in range(PARTITIONS)
        ]
        self._clients = [*self._producers, *self._consumers]
        self._world.after(self._next_fault_ms(), self._fault)
        self._world.run(duration_ms, self.check_invariants)
        self._heal()
        self._check_history()
        acked = sum(len(producer.acked) for producer in self._producers)
        return Outcome(
            self._world.steps,
            acked,
            self._faults["kill"],
            self._faults["cut_power"],
            self._faults["cut_connection"],
        )

    def check_invariants(self) -> None:
        """After every step: offsets only grow, whatever dies; a log begins where it began."""
        if self._broker.node is None:
            return
        for partition in self._broker.node.broker.partitions:
            if partition.topic == TOPIC:
                known = self._high_watermarks.get(partition.index, 0)
                assert partition.high_watermark >= known, (
                    f"{partition.index}: {partition.high_watermark} < {known}"
                )
                assert partition.high_watermark <= partition.log.log_end_offset
                assert partition.log.log_start_offset == 0
                self._high_watermarks[partition.index] = partition.high_watermark

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
            self._world.random.choice(self._clients).cut()
            self._world.after(self._next_fault_ms(), self._fault)
            return
        if kind == "kill":
            self._broker.kill()
        else:
            self._broker.cut_power()
        self._world.after(self._world.random.uniform(0, DOWN_MS), self._restart)

    def _restart(self) -> None:
        self._broker.start()
        self._world.after(self._next_fault_ms(), self._fault)

    def _heal(self) -> None:
        """No more faults; producers finish what they began, consumers read to the end. Then a clean
        restart."""
        self._faulty = False
        for producer in self._producers:
            producer.stop()
        if self._broker.node is None:
            self._world.run(DOWN_MS, self.check_invariants)
        self._world.run(HEAL_MS, self.check_invariants)
        assert all(producer.idle for producer in self._producers), "a producer was never answered"
        self._broker.shut_down()
        self._broker.start()
        self._world.run(HEAL_MS, self.check_invariants)

    def _check_history(self) -> None:
        """Hold what consumers saw at the end against what producers were promised."""
        for consumer in self._consumers:
            producers = [item for item in self._producers if item.partition == consumer.partition]
            values = [value for _, value in consumer.seen]
            assert len(values) == len(set(values)), "a record is there twice, though producers are idempotent"
            for producer in producers:
                for offset, value in producer.acked:
                    assert offset < len(values), f"{value!r} was acknowledged at {offset}, and is lost"
                    assert values[offset] == value, (
                        f"{value!r} was acknowledged at {offset}, {values[offset]!r} is there"
                    )
            sent = {value for producer in producers for value in producer.sent}
            assert set(values) <= sent, "something was read that nobody sent"
            for producer in producers:
                own = set(producer.sent)
                assert [value for value in values if value in own] == producer.sent, (
                    "the producer's order is lost"
                )
