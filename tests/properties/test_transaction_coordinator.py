"""A transaction coordinator under random requests, timeouts, lost leaders, refused writes and compaction,
judged by what producers were told.

The rules that hold whatever happens: a transaction ends once, the same way in every partition and the way its
producer was told; an id and epoch belong to one producer; who is fenced changes nothing; a shard that is
loaded again is the same shard.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.transactions.shard import Identity
from penstock.transactions.transaction import State, Transaction
from tests.transactions.stage import TIMEOUT_MS, TX, Stage

PLACES = [("t", 0), ("t", 1), ("u", 0)]
versions = st.sampled_from([0, 2])
places = st.sampled_from(PLACES)
ages = st.sampled_from([0, 0, 0, 0, 1, 2, 5])
RETRIABLE = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class Coordinated(RuleBasedStateMachine):
    """Producers remember what they were told; some of them are out of date and do not know it."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.identities: list[Identity] = [(1, 0)]  # all that any producer ever had, the first one made up
        self.given: set[Identity] = set()
        self.told: dict[tuple[int, int], bool] = {}  # by identity in which the transaction ran: its outcome

    def _pick(self, age: int) -> Identity:
        """The identity that was told last, or one so many before it."""
        return self.identities[-1 - age % len(self.identities)]

    def _present(self) -> Transaction | None:
        try:
            return self.stage.state
        except KafkaError:
            return None

    @rule(expected=st.none() | ages)
    def initialise(self, expected: int | None) -> None:
        before = self._present()
        try:
            identity = self.stage.init((-1, -1) if expected is None else self._pick(expected))
        except KafkaError as error:
            if error.code not in RETRIABLE | {ErrorCode.PRODUCER_FENCED}:
                raise
            return
        assert before is None or not (before.is_open or before.is_ending)
        if expected is None:
            assert identity not in self.given, "two producers hold the same epoch"
        self.given.add(identity)
        self.identities.append(identity)

    @rule(who=ages, place=places, version=versions)
    def add(self, who: int, place: tuple[str, int], version: int) -> None:
        producer, before = self._pick(who), self._present()
        try:
            self.stage.add(producer, place, version=version)
        except KafkaError:
            assert self._present() == before, "a refusal changes nothing"
            return
        assert before is not None
        assert producer == (before.producer_id, before.producer_epoch)
        assert place in self.stage.state.partitions

    @rule(who=ages, commit=st.booleans(), version=versions)
    def end(self, who: int, commit: bool, version: int) -> None:
        producer, before = self._pick(who), self._present()
        try:
            after = self.stage.end(producer, commit=commit, version=version)
        except KafkaError:
            assert self._present() == before, "a refusal changes nothing"
            return
        assert before is not None
        if before.is_open:
            assert producer == (before.producer_id, before.producer_epoch)
            self.told[producer] = commit
        if version == 2:
            self.given.add(after)
            self.identities.append(after)

    @rule(duration_ms=st.sampled_from([1, 600, TIMEOUT_MS]))
    def time_passes(self, duration_ms: int) -> None:
        self.stage.pass_ms(duration_ms)

    @rule(holding=st.booleans())
    def markers_stall_or_flow(self, holding: bool) -> None:
        if holding:
            self.stage.markers.holding = True
        else:
            self.stage.markers.release()

    @rule(broken=st.sets(places))
    def partitions_break_or_heal(self, broken: set[tuple[str, int]]) -> None:
        self.stage.markers.broken = broken

    @rule(refused=st.booleans())
    def the_log_refuses_or_accepts(self, refused: bool) -> None:
        self.stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS) if refused else None

    @rule(compacted=st.booleans())
    def another_leader(self, compacted: bool) -> None:
        self.stage.markers.release()  # else the stall would outlive the one who stalls
        self.stage.log.refusal = None
        before = self._present()
        if compacted:
            self.stage.log.compact()
        self.stage.markers.holding = True
        self.stage.reload()
        after = self._present()
        assert after == (None if before is None else replace(before, last_producer_epoch=-1))
        self.stage.markers.release()

    @invariant()
    def every_transaction_ends_one_way(self) -> None:
        ways: dict[tuple[int, int, int], set[bool]] = {}
        for _, ending in self.stage.markers.written:
            key = (ending.producer_id, ending.producer_epoch, ending.transaction_version)
            ways.setdefault(key, set()).add(ending.commit)
        assert all(len(outcomes) == 1 for key, outcomes in ways.items() if key[2] == 2)

    @invariant()
    def markers_say_what_producers_were_told(self) -> None:
        for _, ending in self.stage.markers.written:
            if ending.transaction_version == 2 and ending.commit:
                assert self.told.get((ending.producer_id, ending.producer_epoch - 1)) is True

    @invariant()
    def partitions_belong_to_open_transactions(self) -> None:
        present = self._present()
        if present is not None:
            assert present.transactional_id == TX
            idle = present.state in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
            assert not (idle and present.partitions)

    def teardown(self) -> None:
        """Heal everything: in the end nothing is left half done."""
        self.stage.log.refusal, self.stage.markers.broken = None, set()
        self.stage.markers.release()
        for _ in range(3):
            self.stage.pass_ms(TIMEOUT_MS)
        present = self._present()
        assert present is None or not (present.is_open or present.is_ending)


TestCoordinated = Coordinated.TestCase
TestCoordinated.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
