"""A run of a whole cluster: load, faults, the rules after every step, then peace, in which everything must be
finished, and the judgement of the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.batch import iter_headers
from penstock.replication.partition import Partition as Served
from penstock.testing.history import History, Recorder, assert_kept
from penstock.testing.history.events import CommittedOffset, FinalRead, Isolation, Partition, ReplicaLog
from penstock.testing.simulation.clients import records_of
from penstock.testing.simulation.cluster.clients import Consumer, Onlooker
from penstock.testing.simulation.cluster.faults import Faults
from penstock.testing.simulation.cluster.links import Hosts
from penstock.testing.simulation.cluster.metadata import ClusterClient
from penstock.testing.simulation.cluster.network import Network
from penstock.testing.simulation.cluster.node import ClusterNode
from penstock.testing.simulation.cluster.plan import ClusterPlan
from penstock.testing.simulation.cluster.producers import Producer
from penstock.testing.simulation.cluster.rules import Broken, ClusterRules
from penstock.testing.simulation.world import World

TOPIC: Final = "simulated"
PARTITIONS: Final = 2
UNDER_WAY: Final = (1, 5, 3)
"""For each producer, how many batches it may have under way."""
START_MS: Final = 15_000.0
STEP_MS: Final = 200.0
PEACE_MS: Final = 30_000.0
AUDIT_ROUNDS: Final = 100
READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What a run came to; equal for equal seeds."""

    seed: int
    nodes: int
    steps: int
    acked: int
    leaderships: int
    events: int
    faults: tuple[tuple[str, int], ...]


class Breakable(Protocol):
    """A client whose connections break."""

    def cut(self) -> None: ...


class Writer(Breakable, Protocol):
    """A client that writes, until it is to stop."""

    acked: int

    @property
    def idle(self) -> bool: ...

    def stop(self) -> None: ...


class ClusterRun:
    """`run` raises an AssertionError where a promise was broken; `elapsed_ms` says when that was."""

    topics: ClassVar[tuple[str, ...]] = (TOPIC,)
    """Whose logs are looked at after every step."""
    isolation: ClassVar[Isolation] = Isolation.READ_UNCOMMITTED

    def __init__(self, seed: int, *, plan: ClusterPlan | None = None) -> None:
        self._seed = seed
        self._world = World(seed)
        self.plan = plan or ClusterPlan.drawn(self._world.random)
        self._network = Network(self._world)
        self._hosts = Hosts(self._network)
        self._nodes: dict[int, ClusterNode] = {}
        for node_id in self.plan.node_ids:
            node = ClusterNode(self._world, self._hosts, self.plan, node_id)
            self._nodes[node_id] = node
            self._hosts.add(node)
        self._rules = ClusterRules(self.topics)
        self._recorder = Recorder(clock=self._world)
        self._places = [Partition(TOPIC, index) for index in range(PARTITIONS)]
        self._producers: list[Writer] = []
        self._consumers: list[Consumer] = []
        self._clients: list[Breakable] = []
        self._faults = Faults(
            self._world,
            self._network,
            self.plan,
            self._nodes,
            self._rules,
            self._cut_client,
            self._is_full,
        )

    @property
    def elapsed_ms(self) -> float:
        return self._world.monotonic() * 1000

    def run(self, duration_ms: float) -> ClusterOutcome:
        history = self.play(duration_ms)
        assert_kept(history)
        return ClusterOutcome(
            self._seed,
            len(self._nodes),
            self._world.steps,
            sum(producer.acked for producer in self._producers),
            self._rules.leaderships,
            len(history.events),
            tuple(sorted(Counter(self._faults.counts).items())),
        )

    def play(self, duration_ms: float) -> History:
        """Load and faults, then peace and a full read of every partition."""
        for node in self._nodes.values():
            node.start()
        self._create_topic()
        self._begin_load()
        self._faults.begin()
        self._pass(duration_ms)
        self._make_peace()
        finals = [self._final_read(place) for place in self._places]
        replicas = [self._replica(node, place) for place in self._places for node in self._nodes.values()]
        found = [replica for replica in replicas if replica is not None]
        return self._recorder.history(finals, found, self._committed())

    def _committed(self) -> list[CommittedOffset]:
        """What groups have committed at the end; here there are none."""
        return []

    def check_invariants(self) -> None:
        """After every step, of everybody to whom something has happened in it."""
        touched = [node for node in self._nodes.values() if node.take_touched()]
        for node in touched:
            assert node.broker is not None, "the dead do nothing"
            node.broker.controller.quorum.raft.check_invariants()
            self._rules.look(node.node_id, node.broker)
        if touched:
            living = {node.node_id: node.broker for node in self._nodes.values() if node.broker is not None}
            self._rules.check_in_sync(living)
            self._faults.look()

    def _pass(self, duration_ms: float) -> None:
        self._world.run(duration_ms, self.check_invariants)

    def _until(self, done: Callable[[], bool], most_ms: float, what: str) -> None:
        """Let time pass until something holds, or it took too long."""
        end_ms = self.elapsed_ms + most_ms
        while not done():
            if self.elapsed_ms >= end_ms:
                raise Broken(f"liveness: {what} after {most_ms:.0f} ms; {self._situation()}")
            self._pass(STEP_MS)

    def _situation(self) -> str:
        """For whoever has to find the cause."""
        return "; ".join(node.situation(self._places) for node in self._nodes.values())

    def _is_full(self) -> bool:
        """Whether every broker lives, and every replica is in every ISR, as the newest image has it: that
        image still shows a broker in sync that has just died."""
        if not all(self._nodes[number].has_registered for number in self.plan.broker_ids):
            return False
        images = [(node.broker.controller.last_offset, node.broker.controller.image)
                  for node in self._nodes.values() if node.broker is not None]  # fmt: skip
        if not images:
            return False
        _, image = max(images, key=lambda found: found[0])
        topic = image.topics.get(TOPIC)
        return topic is not None and all(set(each.isr) == set(each.replicas) for each in topic.partitions)

    # Load

    def _client(self, name: str, place: Partition) -> ClusterClient:
        return ClusterClient(self._world, self._hosts, name, self.plan.addresses, place)

    def _create_topic(self) -> None:
        created: list[bool] = []
        client = self._client("creator", self._places[0])
        fields = {
            "topics": [
                {
                    "name": TOPIC,
                    "num_partitions": PARTITIONS,
                    "replication_factor": self.plan.replication_factor,
                    "assignments": (),
                    "configs": [{"name": "min.insync.replicas", "value": str(self.plan.min_isr)}],
                }
            ],
            "timeout": 1000,
            "validate_only": False,
        }

        def ask() -> None:
            client.anybody().call(Api.CREATE_TOPICS, 5, fields, answered, again)

        def again() -> None:
            client.later(ask)

        def answered(response: Any) -> None:
            code = ErrorCode(int(response.topics[0].error_code))
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                created.append(True)
            else:
                again()

        ask()
        self._until(lambda: bool(created), START_MS, "no topic can be created")

    def _begin_load(self) -> None:
        for number, at_once in enumerate(UNDER_WAY):
            client = self._client(f"p{number}", self._places[number % PARTITIONS])
            self._producers.append(Producer(client, self._recorder, at_once=at_once))
        careless = [
            Producer(self._client(f"n{place.number}", place), self._recorder, acks=1)
            for place in self._places
        ]
        self._producers += careless
        self._consumers += [
            Consumer(self._client(f"c{place.number}", place), self._recorder) for place in self._places
        ]
        onlookers = [
            Onlooker(self._client(f"o{place.number}", place), self._recorder) for place in self._places
        ]
        self._clients = [*self._producers, *self._consumers, *onlookers]

    def _cut_client(self) -> None:
        self._world.random.choice(self._clients).cut()

    # The end

    def _make_peace(self) -> None:
        """No more faults: within a bounded time producers have finished, everybody is in sync and consumers
        have read everything."""
        for producer in self._producers:
            producer.stop()
        self._faults.end()
        self._until(
            lambda: all(producer.idle for producer in self._producers),
            PEACE_MS,
            "a producer has not been answered",
        )
        self._until(self._all_in_sync, PEACE_MS, "not all replicas are in sync")
        self._until(
            lambda: all(
                consumer.position >= self._rules.committed_end(place)
                for consumer, place in zip(self._consumers, self._places, strict=True)
            ),
            PEACE_MS,
            "a consumer has not read to the end",
        )

    def _all_in_sync(self) -> bool:
        for place in self._places:
            replicas = [node.replica(place) for node in self._nodes.values()]
            found = [replica for replica in replicas if replica is not None]
            ends = {replica.log.log_end_offset for replica in found}
            highs = {replica.high_watermark for replica in found}
            if len(found) < self.plan.replication_factor or len(ends) > 1 or highs != ends:
                return False
        return True

    def _final_read(self, place: Partition) -> FinalRead:
        """A new consumer reads from the beginning to the high watermark."""
        client = self._client(f"auditor{place.number}", place)
        auditor = Consumer(client, self._recorder, self.isolation)
        end = self._rules.committed_end((place.topic, place.number))
        self._until(lambda: auditor.position >= end, PEACE_MS, f"{place} cannot be read to {end}")
        return FinalRead(place, tuple(auditor.records), end, self.isolation)

    def _replica(self, node: ClusterNode, place: Partition) -> ReplicaLog | None:
        """What is in the files, without the way through a fetch."""
        served = node.replica(place)
        if served is None:
            return None
        return ReplicaLog(place, node.node_id, tuple(_records(served, place)), served.high_watermark)


def _records(served: Served, place: Partition) -> list[Any]:
    records: list[Any] = []
    offset = served.log.log_start_offset
    while (found := served.log.read(offset, READ_BYTES)) is not None:
        data = found.read()
        records += records_of(place, data)
        offset = max(header.next_offset for _, header in iter_headers(memoryview(data)))
    return records
