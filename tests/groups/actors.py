"""Consumers as actors on a stage: they behave as real clients do, one step at a time, so that a test may
order their steps as it likes, or let them be silent, die and come back."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Protocol

from penstock.coordinator.promise import Promise
from penstock.groups.embedded import decode_assignment, encode_assignment
from penstock.groups.messages import CommitIdentity, JoinResult, SyncResult
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.groups.stage import GROUP, Stage

TOPIC = "t"
_plans = itertools.count(1)


class Actor(Protocol):
    """A consumer of the one topic."""

    owned: dict[int, int]  # partition → position, from which it reads on

    def step(self) -> None:
        """Do the next thing a client would do."""
        ...

    def leave(self) -> None: ...

    def identity(self) -> CommitIdentity | None:
        """With which it would commit; None when it knows that it is no member."""
        ...

    @property
    def is_settled(self) -> bool:
        """Nothing is left to be done but heartbeats."""
        ...


class _Reader:
    """What both kinds have in common: partitions and positions."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.owned: dict[int, int] = {}

    def own(self, partitions: set[int]) -> None:
        """Give up first, then begin to read where somebody committed last."""
        self.owned = {index: position for index, position in self.owned.items() if index in partitions}
        for index in partitions - self.owned.keys():
            self.owned[index] = self.stage.committed(topic=TOPIC, partition=index) or 0


class ConsumerActor(_Reader):
    """A client of the consumer protocol."""

    def __init__(self, stage: Stage, name: str, instance_id: str | None = None) -> None:
        super().__init__(stage)
        self._names = (f"{name}.{number}" for number in itertools.count())
        self._instance_id = instance_id
        self._id = next(self._names)
        self._epoch = 0
        self._wanted: set[int] | None = None  # an assignment that was heard and not yet acted upon

    def identity(self) -> CommitIdentity | None:
        return CommitIdentity(self._id, self._instance_id, self._epoch, 9) if self._epoch > 0 else None

    @property
    def is_settled(self) -> bool:
        return self._epoch > 0 and self._wanted is None

    def step(self) -> None:
        if self._wanted is not None:
            kept = self.owned.keys() & self._wanted
            if kept != self.owned.keys():
                self.own(set(kept))
            else:
                self.own(self._wanted)
                self._wanted = None
        self.beat()

    def beat(self) -> None:
        topic = self.stage.topics.find(TOPIC)
        assert topic is not None
        owned = {topic.topic_id: list(self.owned)} if self.owned else {}
        try:
            result = self.stage.consume(
                self._id, self._epoch, owned=owned, instance_id=self._instance_id
            ).result()
        except KafkaError as error:
            self._refused(error.code)
            return
        self._epoch = result.member_epoch
        if result.assignment is not None:
            self._wanted = set(result.assignment.get(topic.topic_id, ()))

    def _refused(self, code: ErrorCode) -> None:
        assert code in (
            ErrorCode.FENCED_MEMBER_EPOCH,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.UNRELEASED_INSTANCE_ID,
        ), code
        self._epoch, self._wanted = 0, None
        self.own(set())

    def leave(self) -> None:
        self._go(-1)

    def restart(self) -> None:
        """A static member is stopped and started again; another one leaves and is new."""
        self._go(-2 if self._instance_id is not None else -1)
        self._id = next(self._names)

    def _go(self, epoch: int) -> None:
        if self._epoch > 0:
            self.stage.consume(self._id, epoch, instance_id=self._instance_id)
        self._epoch, self._wanted = 0, None
        self.own(set())


class ClassicActor(_Reader):
    """An eager client of the classic protocol: it gives up everything before it joins."""

    def __init__(self, stage: Stage, plans: dict[int, int]) -> None:
        super().__init__(stage)
        self._plans = plans  # generation → the plan that its members heard, shared by all actors
        self._id = ""
        self._generation = -1
        self._planned: int | None = None  # for how many partitions it made the plan; None unless it leads
        self._joining: Promise[JoinResult] | None = None
        self._syncing: Promise[SyncResult] | None = None

    def identity(self) -> CommitIdentity | None:
        return CommitIdentity(self._id, None, self._generation, 9) if self._generation > 0 else None

    @property
    def is_settled(self) -> bool:
        return self._generation > 0 and self._joining is None and self._syncing is None

    def step(self) -> None:
        if self._joining is not None:
            if self._joining.done:
                self._joined()
        elif self._syncing is not None:
            if self._syncing.done:
                self._synced()
        elif self._generation <= 0 or self._planned not in (None, self._partitions()):
            self._join()  # who leads asks for another plan when the topic has grown
        else:
            self._beat()

    def _join(self) -> None:
        self.own(set())
        self._generation, self._planned = -1, None
        self._joining = self.stage.join(self._id)

    def _joined(self) -> None:
        promise, self._joining = self._joining, None
        assert promise is not None
        try:
            result = promise.result()
        except KafkaError:  # the broker was restarted
            return
        if result.error is ErrorCode.NONE:
            self._id, self._generation = result.member_id, result.generation_id
            plan = self._plan(result)
            self._syncing = self.stage.sync(self._id, self._generation, plan)
        else:
            self._id = result.member_id if result.error is ErrorCode.MEMBER_ID_REQUIRED else self._id
            if result.error is ErrorCode.UNKNOWN_MEMBER_ID:
                self._id = ""

    def _partitions(self) -> int:
        topic = self.stage.topics.find(TOPIC)
        assert topic is not None
        return topic.partitions

    def _plan(self, result: JoinResult) -> dict[str, bytes]:
        members = [member.member_id for member in result.members]
        partitions, number = self._partitions(), next(_plans)
        self._planned = partitions if members else None
        return {
            member: encode_assignment(
                {TOPIC: tuple(range(rank, partitions, len(members))), "plan": (number,)}, 1
            )
            for rank, member in enumerate(members)
        }

    def _synced(self) -> None:
        promise, self._syncing = self._syncing, None
        assert promise is not None
        try:
            result = promise.result()
        except KafkaError:
            self._generation = -1
            return
        if result.error is not ErrorCode.NONE:
            self._generation = -1
            if result.error is ErrorCode.UNKNOWN_MEMBER_ID:
                self._id = ""
            return
        given = decode_assignment(result.assignment)
        for plan in given.get("plan", ()):
            assert self._plans.setdefault(self._generation, plan) == plan, "two plans in one generation"
        self.own(set(given.get(TOPIC, ())))

    def _beat(self) -> None:
        code = self.stage.beat(self._id, self._generation)
        if code is ErrorCode.NONE:
            return
        self.own(set())
        self._generation = -1
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._id = ""

    def leave(self) -> None:
        if self._id:
            with suppress(KafkaError):  # the group may be gone with its last member
                self.stage.leave((self._id, None))
        self.own(set())


def would_commit(stage: Stage, actor: Actor) -> bool:
    """Whether the coordinator takes it for a member that may commit: then, and only then, what it owns is its
    own."""
    identity = actor.identity()
    if identity is None:
        return False
    try:
        stage.groups.runtime.read(0, lambda shard: shard.commits.check(GROUP, identity)).result()
    except KafkaError:
        return False
    return True
