"""Bugs that clusters had, planted one at a time into ours: the simulation notices each, within a few
seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.controller import brokers, partition_changes
from penstock.controller.partition_changes import _Target
from penstock.handlers.producing.acks import Written
from penstock.protocol.errors import ErrorCode
from penstock.replication.leading import Leadership, Progress
from penstock.replication.partition import Partition
from penstock.replication.refusals import Refusals
from penstock.replication.surroundings import Assigned
from penstock.server.cluster.broker_life import BrokerLife
from penstock.storage.producers import Producers
from penstock.testing.simulation.cluster.plan import ClusterPlan
from penstock.testing.simulation.cluster.run import ClusterRun
from tests.simulation.noticing import Patch, Plant, Record, must_be_noticed

KILLS = ClusterPlan(deposed=0.5, fault_every_ms=600.0, fault_lasts_ms=1_200.0)
APART = replace(KILLS, separate=True)
POWER = ClusterPlan(separate=True, power_cuts=True, deposed=0.3, fault_every_ms=500.0, fault_lasts_ms=1_200.0)

FLUSHED = ClusterPlan(power_cuts=True, flush=True, fault_every_ms=600.0, fault_lasts_ms=1_200.0)


def acknowledge_what_the_leader_alone_has(patch: Patch) -> None:
    patch.setattr(Written, "settle", lambda self, *, expired: True)


def truncate_to_the_high_watermark(patch: Patch) -> None:
    """KIP-101: a follower does not ask its new leader where to cut."""
    original = Partition.assume

    def assume(self: Partition, assigned: Assigned) -> bool:
        is_new = original(self, assigned)
        if is_new and not self.leads and self.leader_id >= 0:
            with self.lock:
                self.log.truncate_to(self.high_watermark)
        return is_new

    patch.setattr(Partition, "assume", assume)


def never_compare_logs(patch: Patch) -> None:
    """A follower goes on at its end, whatever it has before."""
    patch.setattr(Partition, "_divergence", lambda self, offset, last_epoch: None)


def let_followers_join_the_isr_when_they_are_behind(patch: Patch) -> None:
    def want_expanded(self: Leadership, node: int, high_watermark: int, may_join: Any) -> bool:
        if self.wanted is not None or node in self.isr:
            return False
        if not may_join(node, self.followers[node].broker_epoch):
            return False
        self._want(self.isr | {node})
        return True

    patch.setattr(Leadership, "want_expanded", want_expanded)


def commit_below_the_least_isr(patch: Patch) -> None:
    """`min.insync.replicas` is not heeded, and those who left before may still be elected (KIP-966)."""
    patch.setattr(Leadership, "has_enough", lambda self, min_isr: True)


def forget_who_may_have_lost_its_log(patch: Patch) -> None:
    """KIP-966, the last replica standing: a broker that lost power comes back as if it had everything."""
    original = brokers.decide_change

    def decide_change(*arguments: Any, stopped_uncleanly: Any = (), **named: Any) -> Any:
        return original(*arguments, **named)

    patch.setattr(brokers, "decide_change", decide_change)


def commit_as_if_the_isr_had_shrunk_already(patch: Patch) -> None:
    """The controller has not said yes."""

    def maximal_isr(self: Leadership) -> frozenset[int]:
        return self.isr if self.wanted is None else self.wanted.members

    patch.setattr(Leadership, "maximal_isr", property(maximal_isr))


def elect_whoever_lives(patch: Patch) -> None:
    """As if unclean elections were allowed."""
    original = partition_changes._elect

    def elect(state: Any, isr: Any, rules: Any, is_active: Any, lost: Any, **named: Any) -> _Target:
        target = original(state, isr, rules, is_active, lost, **named)
        alive = [node for node in state.replicas if is_active(node)]
        if target.leader < 0 and alive:
            return _Target(alive[0], (alive[0],))
        return target

    patch.setattr(partition_changes, "_elect", elect)


def show_consumers_what_is_not_committed(patch: Patch) -> None:
    original = Partition.fetch

    def fetch(self: Partition, *arguments: Any, **named: Any) -> Any:
        with self.lock:
            before, self.log.high_watermark = self.log.high_watermark, self.log.log_end_offset
            try:
                return original(self, *arguments, **named)
            finally:
                self.log.high_watermark = before

    patch.setattr(Partition, "fetch", fetch)


def tell_the_end_before_it_is_known(patch: Patch) -> None:
    """KIP-207: a new leader's high watermark is behind for a moment."""
    patch.setattr(Partition, "check_end_known", lambda self: None)


def acknowledge_what_the_last_leadership_wrote(patch: Patch) -> None:
    """A leader that was deposed while a producer waited says yes."""
    original = Partition.acknowledgement

    def acknowledgement(self: Partition, end_offset: int, leader_epoch: int) -> ErrorCode | None:
        code = original(self, end_offset, leader_epoch)
        return ErrorCode.NONE if code is ErrorCode.NOT_LEADER_OR_FOLLOWER else code

    patch.setattr(Partition, "acknowledgement", acknowledgement)


def take_a_fetch_as_proof_of_what_was_sent(patch: Patch) -> None:
    """What was sent to a follower counts as written there."""
    original = Progress.fetched

    def fetched(self: Progress, offset: int, start: int, epoch: int, leader_end: int, now: float) -> None:
        original(self, leader_end, start, epoch, leader_end, now)

    patch.setattr(Progress, "fetched", fetched)


def forget_what_producers_sent(patch: Patch) -> None:
    patch.setattr(Producers, "check", lambda self, header, guard=None: None)


def open_the_logs_before_the_registration(patch: Patch) -> None:
    """Roles are taken from an image in which this life has not begun."""
    patch.setattr(BrokerLife, "may_open", property(lambda self: not self._opened))


def call_out_of_order_what_follows_a_refusal(patch: Patch) -> None:
    """The first batch comes when too few are in sync, the second when there are enough."""
    patch.setattr(Refusals, "answer", lambda self, producer_id, error: error)


BUGS: list[tuple[Plant, ClusterPlan]] = [
    (show_consumers_what_is_not_committed, KILLS),
    (take_a_fetch_as_proof_of_what_was_sent, KILLS),
]
SLOWER: list[tuple[Plant, ClusterPlan]] = [
    (truncate_to_the_high_watermark, KILLS),
    (let_followers_join_the_isr_when_they_are_behind, KILLS),
    (acknowledge_what_the_leader_alone_has, KILLS),
    (never_compare_logs, KILLS),
    (commit_below_the_least_isr, APART),
    (forget_who_may_have_lost_its_log, POWER),
    (commit_as_if_the_isr_had_shrunk_already, KILLS),
    (elect_whoever_lives, APART),
    (tell_the_end_before_it_is_known, KILLS),
    (acknowledge_what_the_last_leadership_wrote, KILLS),
    (forget_what_producers_sent, KILLS),
    (open_the_logs_before_the_registration, KILLS),
    (call_out_of_order_what_follows_a_refusal, FLUSHED),
]
"""They take more time than the short form has."""


@pytest.mark.claim("A12")
@pytest.mark.parametrize(
    ("plant", "plan"),
    [*(pytest.param(*bug, id=bug[0].__name__) for bug in BUGS)]
    + [pytest.param(*bug, id=bug[0].__name__, marks=pytest.mark.long) for bug in SLOWER],
)
def test_a_planted_bug_is_noticed(
    monkeypatch: Patch,
    record_property: Record,
    plant: Plant,
    plan: ClusterPlan,
) -> None:
    plant(monkeypatch)
    must_be_noticed(plant, lambda seed: ClusterRun(seed, plan=plan), record_property)
