"""Groups under whatever order of joins, leaves, silence, deaths, restarts and compaction Hypothesis can think
of: no partition with two owners, no commit that goes back, and in the end everybody has its share."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from penstock.groups.messages import CommitIdentity
from penstock.groups.offset_records import CommittedOffset
from penstock.protocol.errors import KafkaError
from tests.groups.actors import TOPIC, Actor, ClassicActor, ConsumerActor, would_commit
from tests.groups.stage import GROUP, Stage

MOST_ACTORS = 6
ROUNDS_TO_SETTLE = 130  # seconds: the longest rebalance timeout twice


class _Group(RuleBasedStateMachine):
    """One group, one topic; which kinds of members there are say the machines below."""

    actors = Bundle("actors")

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.stage.topics.make(TOPIC, 4)
        self.alive: list[Actor] = []
        self.plans: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self.committers: dict[int, Actor] = {}
        self.born = 0

    def _appear(self, actor: Actor) -> Actor:
        self.alive.append(actor)
        return actor

    def has_room(self) -> bool:
        return len(self.alive) < MOST_ACTORS

    @rule(order=st.lists(st.integers(0, MOST_ACTORS - 1), min_size=1, max_size=24))
    def step_in_some_order(self, order: list[int]) -> None:
        for number in order:
            if self.alive:
                self.alive[number % len(self.alive)].step()
                self.no_partition_has_two_owners()

    @rule(rounds=st.integers(1, 8))
    def everybody_goes_on(self, rounds: int) -> None:
        self._go_on(self.alive, rounds)

    @rule(actor=actors, rounds=st.integers(1, 12), seconds=st.sampled_from([1, 5, 9]))
    def one_is_paused(self, actor: Actor, rounds: int, seconds: int) -> None:
        """The others go on without it; it wakes up with what it had."""
        self._go_on([other for other in self.alive if other is not actor], rounds, seconds)

    @rule(actor=actors, steps=st.integers(2, 6))
    def one_hurries(self, actor: Actor, steps: int) -> None:
        """It goes on alone, before anybody else has heard of anything."""
        for _ in range(steps):
            actor.step()
            self.no_partition_has_two_owners()

    def _go_on(self, actors: list[Actor], rounds: int, seconds: int = 1) -> None:
        for _ in range(rounds):
            for actor in actors:
                actor.step()
            self.no_partition_has_two_owners()
            self.stage.wait(1000 * seconds)
            self.a_group_that_was_forgotten_counts_from_one_again()

    @rule(actor=consumes(actors))
    def leave(self, actor: Actor) -> None:
        actor.leave()
        self.alive.remove(actor)

    @rule(actor=consumes(actors))
    def die(self, actor: Actor) -> None:
        """Without a word; its session will end."""
        self.alive.remove(actor)

    @rule(ms=st.sampled_from([1, 1000, 3000, 9_999, 44_999, 60_000]))
    def wait(self, ms: int) -> None:
        self.stage.wait(ms)

    @rule(compacts=st.booleans(), drops=st.booleans())
    def restart(self, compacts: bool, drops: bool) -> None:
        if compacts:
            self.stage.log.compact(drop_tombstones=drops)
        self.stage.reload()

    @rule(more=st.integers(0, 1))
    def grow(self, more: int) -> None:
        topic = self.stage.topics.find(TOPIC)
        assert topic is not None
        self.stage.topics.make(TOPIC, min(topic.partitions + more, 8))

    @rule(actor=actors, records=st.integers(0, 3))
    def read_and_commit(self, actor: Actor, records: int) -> None:
        """A client reads on from where it is, and commits; a zombie does so too."""
        for index in actor.owned:
            actor.owned[index] += records
        identity = actor.identity()
        if identity is not None and actor.owned:
            self._commit(actor, identity, actor.owned)

    @rule(actor=actors, rounds=st.integers(2, 12), records=st.integers(1, 3))
    def a_commit_arrives_late(self, actor: Actor, rounds: int, records: int) -> None:
        """It is under way while everybody, its sender too, goes on in another generation."""
        identity, owned = actor.identity(), dict(actor.owned)
        for _ in range(rounds):
            self._go_on(self.alive, 1)
            for reader in self.alive:
                self.read_and_commit(reader, records)
        if identity is not None and owned:
            self._commit(actor, identity, owned)

    def _commit(self, actor: Actor, identity: CommitIdentity, offsets: dict[int, int]) -> None:
        """Offsets may go back by the hand that committed them: its own requests overtook each other."""
        now = self.stage.clock.ms
        wanted = {(TOPIC, at): CommittedOffset(offset, -1, "", now) for at, offset in offsets.items()}
        try:
            self.stage.groups.commit(GROUP, identity, wanted).result()
        except KafkaError:
            return
        for index, offset in offsets.items():
            is_own = self.committers.get(index) is actor
            assert is_own or offset >= self.committed.get(index, 0), "a commit went back"
            self.committed[index], self.committers[index] = offset, actor

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        owners: dict[int, Actor] = {}
        for actor in self.alive:
            if actor.owned and would_commit(self.stage, actor):
                for index in actor.owned:
                    assert index not in owners, f"partition {index} has two owners"
                    owners[index] = actor

    @invariant()
    def a_group_that_was_forgotten_counts_from_one_again(self) -> None:
        """An empty group without offsets is removed at the next look for expired ones, as in Kafka."""
        if self.stage.state() is None:
            self.plans.clear()

    @invariant()
    def what_was_committed_is_told(self) -> None:
        for index, offset in self.committed.items():
            assert self.stage.committed(topic=TOPIC, partition=index) == offset

    def teardown(self) -> None:
        """Left in peace, the members share all partitions."""
        topic = self.stage.topics.find(TOPIC)
        assert topic is not None
        self._go_on(self.alive, ROUNDS_TO_SETTLE)
        owned = sorted(index for actor in self.alive for index in actor.owned)
        assert owned == (list(range(topic.partitions)) if self.alive else [])
        assert all(actor.is_settled for actor in self.alive)


class ClassicGroups(_Group):
    """Members of the classic protocol only."""

    @precondition(_Group.has_room)
    @rule(target=_Group.actors)
    def appear(self) -> Actor:
        return self._appear(ClassicActor(self.stage, self.plans))


class ConsumerGroups(_Group):
    """Members of the consumer protocol only, dynamic and static."""

    @precondition(_Group.has_room)
    @rule(target=_Group.actors, static=st.booleans())
    def appear(self, static: bool) -> Actor:
        self.born += 1
        return self._appear(ConsumerActor(self.stage, f"m{self.born}", f"i{self.born}" if static else None))

    @rule(actor=_Group.actors)
    def stop_and_start(self, actor: Actor) -> None:
        assert isinstance(actor, ConsumerActor)
        actor.restart()


class MixedGroups(_Group):
    """Members of both protocols: the group goes over from one to the other and back."""

    @precondition(_Group.has_room)
    @rule(target=_Group.actors)
    def classic_appears(self) -> Actor:
        return self._appear(ClassicActor(self.stage, self.plans))

    @precondition(_Group.has_room)
    @rule(target=_Group.actors)
    def consumer_appears(self) -> Actor:
        self.born += 1
        return self._appear(ConsumerActor(self.stage, f"m{self.born}"))

    @precondition(_Group.has_room)
    @rule(target=_Group.actors, rounds=st.integers(0, 8))
    def consumer_appears_among_the_settled(self, rounds: int) -> Actor:
        """An upgrade, and the newcomer has asked for its share before anybody else wakes up."""
        self._go_on(self.alive, rounds)
        actor = self.consumer_appears()
        self.one_hurries(actor, 3)
        return actor


class TestClassicGroups(ClassicGroups.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(stateful_step_count=40)


class TestConsumerGroups(ConsumerGroups.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(stateful_step_count=40)


class TestMixedGroups(MixedGroups.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(stateful_step_count=40)
