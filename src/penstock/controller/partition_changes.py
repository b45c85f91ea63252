"""What becomes of a partition when brokers come and go: its ISR, its leader, and who else may lead (KIP-966).

Pure: a partition and who is active in, a record out, or none when nothing changes. Called by the decisions
about brokers and by `penstock.controller.alter_partition`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from penstock.controller.image import PartitionState
from penstock.controller.metadata_records import NO_LEADER
from penstock.controller.partition_records import LEADER_UNCHANGED, PartitionChangeRecord

IsActive = Callable[[int], bool]


class Rules(NamedTuple):
    """What a partition's topic says."""

    min_isr: int
    """`min.insync.replicas`: below it nothing is committed, so whoever leaves the ISR then lacks nothing."""
    unclean: bool
    """`unclean.leader.election.enable`: a leader that may lack what was committed is better than none."""


class _Target(NamedTuple):
    leader: int
    isr: tuple[int, ...]
    unclean: bool = False


def decide_change(
    topic_id: bytes,
    index: int,
    state: PartitionState,
    rules: Rules,
    is_active: IsActive,
    *,
    isr: tuple[int, ...] | None = None,
    stopped_uncleanly: Iterable[int] = (),
    prefer_first: bool = False,
) -> PartitionChangeRecord | None:
    """The change that follows. `isr` is what the leader wants; `stopped_uncleanly` may have lost what they
    had; `prefer_first` lets the preferred replica lead."""
    lost = frozenset(stopped_uncleanly)
    wanted = state.isr if isr is None else isr
    alive = tuple(node for node in wanted if is_active(node) and node not in lost)
    target = _elect(state, alive, rules, is_active, lost, prefer_first=prefer_first)
    elr, last_known = _eligible(state, target, rules, lost)
    record = PartitionChangeRecord(
        index,
        topic_id,
        isr=None if target.isr == state.isr else target.isr,
        leader=LEADER_UNCHANGED if target.leader == state.leader else target.leader,
        elr=None if elr == state.elr else elr,
        last_known_elr=None if last_known == state.last_known_elr else last_known,
    )
    return None if record == PartitionChangeRecord(index, topic_id) else record


def _elect(
    state: PartitionState,
    isr: tuple[int, ...],
    rules: Rules,
    is_active: IsActive,
    lost: frozenset[int],
    *,
    prefer_first: bool,
) -> _Target:
    """The leader stays while it can. After it comes the first replica of the ISR, then an eligible one, which
    has all that is committed, too; then, where that is allowed, any."""
    in_order = [node for node in state.replicas if node in isr]
    if prefer_first and in_order and in_order[0] == state.replicas[0]:
        return _Target(in_order[0], isr)
    if state.leader in isr:
        return _Target(state.leader, isr)
    if in_order:
        return _Target(in_order[0], isr)
    eligible = [node for node in state.replicas if node in state.elr and is_active(node) and node not in lost]
    if eligible:
        return _Target(eligible[0], (eligible[0],))
    if rules.unclean:
        last_known = [node for node in state.last_known_elr if is_active(node)]
        anybody = [*last_known, *(node for node in state.replicas if is_active(node))]
        if anybody:
            return _Target(anybody[0], (anybody[0],), unclean=True)
    return _Target(NO_LEADER, ())


def _eligible(
    state: PartitionState, target: _Target, rules: Rules, lost: frozenset[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Who has all that is committed without being in the ISR, and who had it. While the ISR is large enough
    more is committed without them: then nobody. After an unclean election nothing is promised any more."""
    if len(target.isr) >= rules.min_isr or target.unclean:
        return (), ()
    had = [node for node in state.replicas if node in {*state.elr, *state.isr} and node not in target.isr]
    elr = tuple(node for node in had if node not in lost)
    known = {*state.last_known_elr, *had}
    last_known = tuple(node for node in state.replicas if node in known - {*elr, *target.isr})
    return elr, last_known
