"""Mutated requests of every API and version, straight into a session: they are answered, or their connection
is closed; nothing else happens, soon and in bounded memory."""

from __future__ import annotations

import resource
import time
from contextlib import suppress
from random import Random

import pytest

from penstock.handlers.reply import HangUp, NoReply, Outcome, Reply, Wait
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.header import read_request_header
from penstock.protocol.messages import read_response
from penstock.protocol.primitives import MalformedMessage
from penstock.security.operations import Operation, ResourceType
from tests.fuzz.requests import RequestMaker, mutated, served_versions
from tests.handlers.one_node import OneNode, body_of
from tests.handlers.test_acls import ALICE, Guarded

SHORT_ROUNDS = 3
MUTATIONS = 4
LONG_SECONDS = 20 * 60
REQUESTS_PER_NODE = 400
SLOWEST_SECONDS = 5.0  # of one request, on a machine that is shared
GROWTH_KB = 150_000
DEEPEST_WAIT = 50
SETTINGS = {"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}


class Target:
    """A broker that is thrown away now and then: mutated requests make topics and groups."""

    def __init__(self) -> None:
        self.node = OneNode(SETTINGS)
        self._furnish()

    def _furnish(self) -> None:
        self.ids = [self.node.create_topic(name, 2) for name in ("t", "u")]
        self.node.append("t", [b"a", b"b"])
        self.served = 0

    def send(self, frame: bytes) -> Reply | None:
        """The answer; None when there is none, or the connection would be closed."""
        self.served += 1
        began = time.process_time()  # of the processor: a busy machine is no fault of ours
        try:
            reply = self._settled(self.node.session.handle(memoryview(bytearray(frame))).outcome)
        except (MalformedMessage, HangUp):
            reply = None
        assert time.process_time() - began < SLOWEST_SECONDS, frame.hex()
        return reply

    def _settled(self, outcome: Outcome) -> Reply | None:
        for _ in range(DEEPEST_WAIT):
            if isinstance(outcome, NoReply):
                return None
            if isinstance(outcome, Reply):
                return outcome
            assert isinstance(outcome, Wait)
            self.node.clock.ms = max(self.node.clock.ms, outcome.deadline * 1000)
            outcome = outcome.resume(True)
        raise AssertionError("a wait that never ends")


class GuardedTarget(Target):
    """With an authorizer. The requests are those of a user that reads and writes one topic."""

    def __init__(self) -> None:
        node = Guarded(SETTINGS)
        self.node = node
        self._furnish()
        for operation in (Operation.READ, Operation.WRITE):
            node.allow(operation, ResourceType.TOPIC, "t")
        node.allow(Operation.READ, ResourceType.GROUP, "g")
        self.node = node.as_(ALICE)


def check_answer(frame: bytes, reply: Reply) -> None:
    """What was answered is a response of that API and version, to the last byte."""
    header, _ = read_request_header(memoryview(frame))
    api, version = Api(header.api_key), header.version
    if api is Api.API_VERSIONS and not 0 <= version <= 4:
        version = 0
    if api is Api.FETCH and any(not isinstance(part, bytes) for part in reply.parts):
        return  # kio decodes records, and a mutated fetch may cut them anywhere
    read_response(api, version, body_of(reply))


def shown(frame: bytes) -> str:
    header, _ = read_request_header(memoryview(frame))
    flexible = is_flexible(Api(header.api_key), header.version)
    return f"{Api(header.api_key).name} v{header.version} flexible={flexible}: {frame.hex()}"


def run_round(random: Random, target: Target, mutations: int) -> Target:
    """Every API in every version: a valid request, and some that are not."""
    for api, version in served_versions():
        if target.served > REQUESTS_PER_NODE:
            target = type(target)()
        maker = RequestMaker(random, target.ids)
        frame, other = maker.frame(api, version), maker.frame(api, version)
        for sent in (frame, *(mutated(random, frame, other) for _ in range(mutations))):
            try:
                reply = target.send(sent)
                if reply is not None:
                    check_answer(sent, reply)
            except Exception as error:
                raise AssertionError(
                    f"{type(error).__name__}: {error} after {shown(frame)} became {sent.hex()}"
                ) from error
    return target


@pytest.mark.claim("S1")
@pytest.mark.timeout(LONG_SECONDS + 300)
@pytest.mark.parametrize(
    ("target", "short_rounds"), [(Target, SHORT_ROUNDS), (GuardedTarget, 1)], ids=["anybody", "few rights"]
)
def test_mutated_requests_are_answered_or_refused_and_nothing_else(
    target: type[Target], short_rounds: int, seed: int, long_form: bool
) -> None:
    end = time.monotonic() + LONG_SECONDS
    now, rounds = target(), 0
    started_kb = 0
    while rounds < short_rounds or (long_form and time.monotonic() < end):
        now = run_round(Random(seed * 1_000_003 + rounds), now, MUTATIONS)
        rounds += 1
        if rounds == 1:
            started_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - started_kb
    assert grown_kb < GROWTH_KB, f"{grown_kb} kB more after {rounds} rounds"
    print(f"{rounds} rounds of {len(list(served_versions()))} versions, {MUTATIONS + 1} requests each")


@pytest.mark.claim("S1")
def test_valid_requests_of_every_version_are_answered(seed: int) -> None:
    """The generator makes what it says: otherwise the mutations would start from refuse."""
    random, target = Random(seed), Target()
    refused = []
    for api, version in served_versions():
        frame = RequestMaker(random, target.ids).frame(api, version)
        try:
            with suppress(HangUp):  # a valid produce with acks=0 to a partition that is not there
                target.node.session.handle(memoryview(bytearray(frame)))
        except MalformedMessage as error:
            refused.append(f"{api.name} v{version}: {error}")
    assert refused == []
