"""A controller for traces: a real one with a log of its own, brokers that do what a command says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from random import Random
from typing import Any

from penstock.controller.alter_partition import WantedIsr, decide_alter_partition
from penstock.controller.broker_records import Endpoint
from penstock.controller.brokers import Heartbeat, Registration
from penstock.controller.configs import Change, Operation, Resource, decide_changes
from penstock.controller.controller import Controller
from penstock.controller.image import TOPIC_RESOURCE, Image, PartitionState
from penstock.controller.leader_elections import ElectionType, decide_election
from penstock.controller.membership import Membership
from penstock.controller.metadata_records import MetadataRecord, decode
from penstock.controller.partition_records import LEADER_UNCHANGED, PartitionChangeRecord
from penstock.controller.quorum import Quorum
from penstock.controller.reassignments import decide_reassign
from penstock.controller.rules import rules_of
from penstock.controller.topics import Defaults, NewTopic, decide_create, decide_delete
from penstock.coordinator.promise import Promise
from penstock.protocol.errors import KafkaError
from penstock.settings import BrokerSettings, TopicSettings
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.golden.traces.trace import Command
from tests.raft.quorum import HandClock

CLUSTER = "a-cluster"
SETTINGS = BrokerSettings.from_texts(
    {"broker.session.timeout.ms": "3000", "min.insync.replicas": "2", "auto.leader.rebalance.enable": "false"}
)
STEP_MS = 500
SHOWN_AS = {"topic_id": "topic", "broker_epoch": "epoch"}
LEFT_OUT = {"incarnation_id", "endpoints", "directories", "features", "listeners"}


class ControllerStage:
    """Commands of the traces in `controller/`."""

    def __init__(self) -> None:
        self._clock = HandClock()
        disk = SimDisk(Random(1))
        log = Log.open(disk, "/log", TopicSettings(), self._clock, clean=False)
        self._controller = Controller(Quorum(log, disk, self._clock, Random(1), 100))
        self._membership = Membership(self._controller, CLUSTER, self._clock, SETTINGS)
        self._lives: dict[int, int] = {}
        self._epochs: dict[int, int] = {}
        self._topics = 0
        self._shown = self._controller.quorum.committed_offset

    def do(self, command: Command) -> Iterator[str]:
        run: Callable[[Command], Iterator[str]] = getattr(self, f"_do_{command.name.replace('-', '_')}")
        try:
            yield from run(command)
        except KafkaError as error:
            yield f"refused: {error.code.name} ({error.message})"
        yield from self._new_records()

    # Brokers

    def _do_register(self, command: Command) -> Iterator[str]:
        """`register 1 rack=a clean=no`: a broker's process begins. It is fenced until it has caught up."""
        broker = command.number()
        self._lives[broker] = self._lives.get(broker, 0) + 1
        previous = self._epochs.get(broker, -1) if command.options.get("clean", "yes") == "yes" else -1
        wish = Registration(
            broker,
            CLUSTER,
            bytes([self._lives[broker]]) * 16,
            (Endpoint("PLAINTEXT", f"host{broker}", 9092),),
            command.options.get("rack"),
            previous,
        )
        self._epochs[broker] = _result(self._membership.register(wish))
        yield f"broker {broker} has epoch {self._epochs[broker]}"

    def _do_heartbeat(self, command: Command) -> Iterator[str]:
        """`heartbeat 1 wants=stop`: the broker is alive, and has followed everything."""
        broker, wants = command.number(), command.options.get("wants")
        beat = Heartbeat(
            broker,
            self._epochs[broker],
            self._controller.last_offset,
            wants_fence=wants == "fence",
            wants_shutdown=wants == "stop",
        )
        told = _result(self._membership.heartbeat(beat))
        said = ["fenced" if told.fenced else "unfenced", "may stop" if told.may_stop else ""]
        yield f"broker {broker} is told: {', '.join(filter(None, said))}"

    def _do_brokers(self, command: Command) -> Iterator[str]:
        """`brokers 1 2 3`: these register and are unfenced; `broker_fencing.txt` shows how."""
        for word in command.words:
            list(self._do_register(Command("register", (word,))))
            list(self._do_heartbeat(Command("heartbeat", (word,))))
        self._shown = self._controller.quorum.committed_offset
        for broker in self._controller.image.brokers.values():
            yield f"broker {broker.broker_id} serves"

    def _do_pass(self, command: Command) -> Iterator[str]:
        """`pass 4000 silent=3`: time passes. Every other broker goes on sending heartbeats."""
        silent, end = command.numbers("silent"), self._clock.ms + command.number()
        while self._clock.ms < end:
            self._clock.ms += STEP_MS
            for broker in self._controller.image.brokers:
                if broker not in silent:
                    list(self._do_heartbeat(Command("heartbeat", (str(broker),))))
            self._membership.tick()
        yield from ()

    # Topics

    def _do_create(self, command: Command) -> Iterator[str]:
        """`create orders partitions=3 replication=2`, or `create orders replicas=1,2,3`."""
        options, given = command.options, command.numbers("replicas")
        wish = NewTopic(
            command.words[0],
            -1 if given else int(options.get("partitions", -1)),
            -1 if given else int(options.get("replication", -1)),
            {0: given} if given else {},
        )
        defaults = Defaults(1, 3, SETTINGS.topic_defaults)
        topic_id = (self._topics + 1).to_bytes(16, "big")
        _result(self._controller.submit(lambda image: (decide_create(image, wish, defaults, topic_id), None)))
        self._topics += 1
        yield from ()

    def _do_delete(self, command: Command) -> Iterator[str]:
        _result(self._controller.submit(lambda image: (decide_delete(image.topics[command.words[0]]), None)))
        yield from ()

    def _do_config(self, command: Command) -> Iterator[str]:
        """`config orders min.insync.replicas=1`"""
        resource = Resource(TOPIC_RESOURCE, command.words[0])
        changes = [Change(name, Operation.SET, value) for name, value in command.options.items()]
        _result(
            self._controller.submit(lambda image: (decide_changes(image, resource, changes, SETTINGS), None))
        )
        yield from ()

    # Partitions

    def _do_isr(self, command: Command) -> Iterator[str]:
        """`isr orders-0 1 2`: the leader asks for this ISR (AlterPartition)."""
        topic, index = _place(command)
        wanted = tuple(map(int, command.words[1:]))
        state = self._controller.image.topics[topic].partitions[index]

        def decide(image: Image) -> tuple[list[MetadataRecord], None]:
            wish = WantedIsr(
                image.topics[topic].topic_id,
                index,
                state.leader_epoch,
                int(command.options.get("partition_epoch", state.partition_epoch)),
                tuple((broker, self._epochs[broker]) for broker in wanted),
            )
            return decide_alter_partition(image, state.leader, wish, rules_of(image, SETTINGS)(topic)), None

        _result(self._controller.submit(decide))
        yield from ()

    def _do_reassign(self, command: Command) -> Iterator[str]:
        """`reassign orders-0 to=4,5,1`; without `to`, the move is cancelled."""
        topic, index = _place(command)
        replicas = command.numbers("to") or None

        def decide(image: Image) -> tuple[list[MetadataRecord], None]:
            rules = rules_of(image, SETTINGS)(topic)
            return decide_reassign(image, image.topics[topic], index, replicas, rules), None

        _result(self._controller.submit(decide))
        yield from ()

    def _do_elect(self, command: Command) -> Iterator[str]:
        """`elect orders-0 preferred`, or `unclean`."""
        topic, index = _place(command)
        kind = ElectionType[command.words[1].upper()]

        def decide(image: Image) -> tuple[list[MetadataRecord], None]:
            return decide_election(image, topic, index, kind, rules_of(image, SETTINGS)(topic)), None

        _result(self._controller.submit(decide))
        yield from ()

    def _do_show(self, command: Command) -> Iterator[str]:
        """`show orders`: the topic as it stands now."""
        topic = self._controller.image.topics.get(command.words[0])
        if topic is None:
            yield f"  there is no topic {command.words[0]}"
            return
        for index, state in enumerate(topic.partitions):
            yield f"  {command.words[0]}-{index}: {partition(state)}"

    # Records

    def _new_records(self) -> Iterator[str]:
        """Every record that was committed since the last command."""
        for end, values in self._controller.quorum.steps_from(self._shown):
            for value in values:
                yield f"  {record(decode(value))}"
            self._shown = end


def partition(state: PartitionState) -> str:
    found = [f"leader {state.leader}" if state.leader >= 0 else "no leader", f"ISR {_nodes(state.isr)}"]
    found.append(f"replicas {_nodes(state.replicas)}")
    for name, nodes in (("adding", state.adding), ("removing", state.removing), ("ELR", state.elr)):
        if nodes:
            found.append(f"{name} {_nodes(nodes)}")
    if state.last_known_elr:
        found.append(f"last known ELR {_nodes(state.last_known_elr)}")
    return ", ".join([*found, f"leader epoch {state.leader_epoch}, partition epoch {state.partition_epoch}"])


def record(value: MetadataRecord) -> str:
    """The record with what it says; None means that it says nothing of a field."""
    said = []
    for field in fields(value):  # type: ignore[arg-type]
        found = getattr(value, field.name)
        says_nothing = found is None or found == {}
        if isinstance(value, PartitionChangeRecord):
            says_nothing |= (field.name, found) == ("leader", LEADER_UNCHANGED)
        else:
            says_nothing |= found == ()
        if field.name not in LEFT_OUT and not says_nothing:
            said.append(f"{SHOWN_AS.get(field.name, field.name)}={_shown(found)}")
    return f"{type(value).__name__}({', '.join(said)})"


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return f"#{int.from_bytes(value, 'big')}"
    if isinstance(value, tuple):
        return _nodes(value)
    return str(value)


def _nodes(nodes: Any) -> str:
    return "[" + " ".join(map(str, nodes)) + "]"


def _place(command: Command) -> tuple[str, int]:
    topic, _, index = command.words[0].rpartition("-")
    return topic, int(index)


def _result(promise: Promise[Any]) -> Any:
    assert promise.done, "one voter decides at once"
    return promise.result()
