"""Several controllers in one thread: one decides, all follow, and another takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from penstock.controller.brokers import Heartbeat, Registration
from penstock.controller.controller import Controller
from penstock.controller.image import Image
from penstock.controller.membership import Membership
from penstock.controller.metadata_records import MetadataRecord, PartitionRecord, TopicRecord
from penstock.controller.quorum import Quorum
from penstock.coordinator.promise import Promise
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.raft.messages import Request, Response
from penstock.settings import BrokerSettings, TopicSettings
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.raft.quorum import HandClock

VOTERS = frozenset({1, 2, 3})
SETTINGS = BrokerSettings.from_texts({"broker.session.timeout.ms": "3000"})


class Nodes:
    """Controllers whose requests are carried by hand: voters 1 to 3, and 4 observes."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.controllers: dict[int, Controller] = {}
        self.memberships: dict[int, Membership] = {}
        self.requests: list[Request] = []
        self.answers: list[tuple[Request, Promise[Response]]] = []
        for node in (1, 2, 3, 4):
            self.start(node)

    def start(self, node: int) -> None:
        disk = SimDisk(Random(node))
        log = Log.open(disk, "/log", TopicSettings(), self.clock, clean=False)
        controller = Controller(Quorum(log, disk, self.clock, Random(node), node, VOTERS))
        controller.quorum.post = self.requests.extend
        self.controllers[node] = controller
        self.memberships[node] = Membership(controller, "c", self.clock, SETTINGS)

    def pass_ms(self, ms: float, *, without: Sequence[int] = ()) -> None:
        """Let time pass in small steps; nothing gets from or to the nodes in `without`."""
        end = self.clock.ms + ms
        while self.clock.ms < end:
            self.clock.ms += 25
            for node, controller in self.controllers.items():
                controller.tick()
                self.memberships[node].tick()
            self._carry(without)
            for controller in self.controllers.values():
                controller.follow()

    def _carry(self, without: Sequence[int]) -> None:
        for _ in range(8):
            requests, answers = list(self.requests), self.answers
            self.requests.clear()
            self.answers = []
            for request in requests:
                if request.source not in without and request.destination not in without:
                    there = self.controllers[request.destination]
                    promise = there.receive(
                        lambda number, request=request: replace(request, correlation_id=number)
                    )
                    self.answers.append((request, promise))
            for request, promise in answers:
                if not promise.done:
                    self.answers.append((request, promise))
                elif request.source not in without and request.destination not in without:
                    answer = replace(promise.result(), correlation_id=request.correlation_id)
                    self.controllers[request.source].step(answer)

    def active(self) -> int:
        (node,) = [node for node, controller in self.controllers.items() if controller.is_active]
        return node


def topic(number: int) -> list[MetadataRecord]:
    topic_id = number.to_bytes(16, "big")
    return [TopicRecord(f"t{number}", topic_id), PartitionRecord(0, topic_id, (1,), (1,), 1, 0, 0)]


def decide(controller: Controller, records: list[MetadataRecord]) -> Promise[str]:
    return controller.submit(lambda image: (records, "done"))


@pytest.fixture
def nodes() -> Nodes:
    nodes = Nodes()
    nodes.pass_ms(5000)
    return nodes


def test_a_decision_is_kept_when_a_majority_has_it_and_then_all_follow(nodes: Nodes) -> None:
    active = nodes.active()
    promise = decide(nodes.controllers[active], topic(1))
    assert not promise.done
    nodes.pass_ms(100)
    assert promise.result() == "done"
    nodes.pass_ms(1000)
    assert all("t1" in controller.image.topics for controller in nodes.controllers.values())


def test_a_decision_builds_on_those_before_it_though_they_are_not_committed(nodes: Nodes) -> None:
    controller = nodes.controllers[nodes.active()]
    decide(controller, topic(1))
    seen: list[str] = []

    def look(image: Image) -> tuple[list[MetadataRecord], None]:
        seen.extend(image.topics)
        return topic(2), None

    controller.submit(look)
    assert (seen, list(controller.image.topics)) == (["t1"], [])


def test_what_only_reads_waits_for_what_it_has_read(nodes: Nodes) -> None:
    controller = nodes.controllers[nodes.active()]
    decide(controller, topic(1))
    looked = controller.submit(lambda image: ([], list(image.topics)))
    assert not looked.done
    nodes.pass_ms(100)
    assert looked.result() == ["t1"]


def test_nobody_follows_what_comes_with_the_committed_and_is_not_committed_itself(nodes: Nodes) -> None:
    active = nodes.active()
    others = [node for node in VOTERS if node != active]
    decide(nodes.controllers[active], topic(1))
    nodes.pass_ms(500, without=[4])
    decide(nodes.controllers[active], topic(2))
    nodes.pass_ms(2200, without=others)  # the observer asks again, and gets both in one piece
    observer = nodes.controllers[4]
    assert observer.quorum.end_offset == nodes.controllers[active].quorum.end_offset
    assert list(observer.image.topics) == ["t1"]


def test_who_is_not_active_decides_nothing(nodes: Nodes) -> None:
    for node in {1, 2, 3, 4} - {nodes.active()}:
        promise = decide(nodes.controllers[node], topic(1))
        with pytest.raises(KafkaError) as error:
            promise.result()
        assert error.value.code is ErrorCode.NOT_CONTROLLER


def test_a_controller_that_is_cut_off_breaks_its_promises_and_another_takes_over(nodes: Nodes) -> None:
    old = nodes.active()
    decide(nodes.controllers[old], topic(1))
    nodes.pass_ms(1000)
    lost = decide(nodes.controllers[old], topic(2))
    nodes.pass_ms(8000, without=[old])
    assert lost.broken
    new = nodes.active()
    assert new != old
    decide(nodes.controllers[new], topic(3))
    nodes.pass_ms(3000)
    for controller in nodes.controllers.values():
        assert sorted(controller.image.topics) == ["t1", "t3"], "what was not committed is nowhere"


def registration(life: int = 1) -> Registration:
    return Registration(7, "c", bytes([life]) * 16, ())


def test_a_broker_is_fenced_by_silence_and_a_new_controller_gives_it_its_time(nodes: Nodes) -> None:
    old = nodes.active()
    promise = nodes.memberships[old].register(registration())
    nodes.pass_ms(100)
    epoch = promise.result()
    beat = Heartbeat(7, epoch, epoch)
    nodes.memberships[old].heartbeat(beat)
    nodes.pass_ms(2000)
    assert not nodes.controllers[old].image.brokers[7].fenced
    nodes.pass_ms(8000, without=[old])
    new = nodes.active()
    nodes.memberships[new].heartbeat(beat)
    nodes.pass_ms(2500, without=[old])
    assert not nodes.controllers[new].image.brokers[7].fenced
    nodes.pass_ms(1500, without=[old])
    assert nodes.controllers[new].image.brokers[7].fenced


def test_a_second_process_with_the_same_id_waits_until_the_first_is_silent(nodes: Nodes) -> None:
    membership = nodes.memberships[nodes.active()]
    first = membership.register(registration())
    nodes.pass_ms(100)
    membership.heartbeat(Heartbeat(7, first.result(), first.result()))
    nodes.pass_ms(100)
    refused = membership.register(registration(life=2))
    with pytest.raises(KafkaError) as error:
        refused.result()
    assert error.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    nodes.pass_ms(4000)
    taken = membership.register(registration(life=2))
    nodes.pass_ms(100)
    assert taken.result() > first.result()
