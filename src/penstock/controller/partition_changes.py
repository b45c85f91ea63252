"""What becomes of a partition when brokers come and go or its replicas move: its ISR, its leader, and
the replicas that may lead besides (KIP-966).

Pure: a partition and the active brokers in, a record out, or none when nothing changes. Called by the
decisions about brokers, by `penstock.controller.alter_partition` and by `penstock.controller.reassignments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from penstock.controller.directory_ids import UNASSIGNED, known
from penstock.controller.image import PartitionState
from penstock.controller.metadata_records import NO_LEADER
from penstock.controller.partition_records import LEADER_UNCHANGED, PartitionChangeRecord

IsActive = Callable[[int], bool]
IsOnline = Callable[[int, bytes], bool]
_NO_PLACES: Final[Mapping[int, bytes]] = {}


class Rules(NamedTuple):
    """What a partition's topic says."""

    min_isr: int
    """`min.insync.replicas`: below it nothing is committed, so a replica that leaves then lacks nothing."""
    unclean: bool
    """`unclean.leader.election.enable`: a leader that may lack what was committed is better than none."""


class Move(NamedTuple):
    """Where the replicas of a partition are to be, and what has to happen before."""

    replicas: tuple[int, ...]
    """All of them while they move: where they will be first, and those that leave behind."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]


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
    emptied: Iterable[int] = (),
    prefer_first: bool = False,
    move: Move | None = None,
    is_online: IsOnline = lambda node, directory: True,
    directories: Mapping[int, bytes] = _NO_PLACES,
) -> PartitionChangeRecord | None:
    """The change that follows. `isr` is what the leader wants; `stopped_uncleanly` may have lost what they
    had, those that are `emptied` have lost it; `prefer_first` lets the preferred replica lead; `move` begins,
    changes or ends a reassignment; `directories` are where replicas are from now on. A replica in a directory
    that is not online neither leads nor is in sync."""
    lost = frozenset(stopped_uncleanly)
    wanted = state.isr if isr is None else isr
    moving = Move(state.replicas, state.adding, state.removing) if move is None else move
    places = {**state.places, **directories}
    offline = frozenset(node for node, directory in places.items() if not is_online(node, directory))

    def is_usable(node: int) -> bool:
        return node not in offline and is_active(node)

    alive = tuple(node for node in wanted if node in moving.replicas and is_usable(node) and node not in lost)
    moving, alive = _arrived(moving, alive)
    moved = replace(state, replicas=moving.replicas)
    placed = known(tuple(places.get(node, UNASSIGNED) for node in moving.replicas))
    target = _elect(moved, alive, rules, is_usable, lost, prefer_first=prefer_first)
    elr, last_known = _eligible(moved, target, rules, lost, frozenset(emptied), offline)
    record = PartitionChangeRecord(
        index,
        topic_id,
        isr=_if_changed(target.isr, state.isr),
        leader=_leader(state, target, moving),
        replicas=_if_changed(moving.replicas, state.replicas),
        removing=_if_changed(moving.removing, state.removing),
        adding=_if_changed(moving.adding, state.adding),
        elr=_if_changed(elr, state.elr),
        last_known_elr=_if_changed(last_known, state.last_known_elr),
        directories=None if placed == state.directories else placed,
    )
    return None if record == PartitionChangeRecord(index, topic_id) else record


def _if_changed(new: tuple[int, ...], old: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if new == old else new


def _arrived(moving: Move, isr: tuple[int, ...]) -> tuple[Move, tuple[int, ...]]:
    """A reassignment is over when all that were added are in sync; then those that leave, leave."""
    staying = tuple(node for node in isr if node not in moving.removing)
    if not (moving.adding or moving.removing) or not staying or not set(moving.adding) <= set(isr):
        return moving, isr
    replicas = tuple(node for node in moving.replicas if node not in moving.removing)
    return Move(replicas, (), ()), staying


def _leader(state: PartitionState, target: _Target, moving: Move) -> int:
    """The leader as the record names it. When a replica leaves, the leader is named again: a new epoch
    keeps the one that left from being counted by what it fetched before."""
    if target.leader != state.leader or not set(state.replicas) <= set(moving.replicas):
        return target.leader
    return LEADER_UNCHANGED


def _elect(
    state: PartitionState,
    isr: tuple[int, ...],
    rules: Rules,
    is_active: IsActive,
    lost: frozenset[int],
    *,
    prefer_first: bool,
) -> _Target:
    """The leader stays while it can. Otherwise the first replica of the ISR leads; then an eligible one,
    which has all that is committed, too; then, when no replica surely has it, the last leader; then, where
    unclean elections are allowed, any replica."""
    in_order = [node for node in state.replicas if node in isr]
    if prefer_first and in_order and in_order[0] == state.replicas[0]:
        return _Target(in_order[0], isr)
    if state.leader in isr:
        return _Target(state.leader, isr)
    if in_order:
        return _Target(in_order[0], isr)
    trusted = [node for node in state.replicas if node in {*state.elr, *state.isr} and node not in lost]
    eligible = [node for node in trusted if node in state.elr and is_active(node)]
    if eligible:
        return _Target(eligible[0], (eligible[0],))
    last_known = [node for node in state.last_known_elr if is_active(node) and node not in lost]
    anybody = [node for node in state.replicas if is_active(node)] if rules.unclean else []
    hoped = (last_known if rules.unclean or not trusted else []) + anybody
    if hoped:
        return _Target(hoped[0], (hoped[0],), unclean=True)
    return _Target(NO_LEADER, ())


def _eligible(
    state: PartitionState,
    target: _Target,
    rules: Rules,
    lost: frozenset[int],
    emptied: frozenset[int],
    offline: frozenset[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The replicas that have all that is committed without being in the ISR, and the last leader when there
    is none now.

    While the ISR is large enough, more is committed without the others: then no replica is eligible. After
    an unclean election nothing is guaranteed any more. When the last leader has lost its disk, or its
    directory is offline, the replicas that were eligible last take its place; if there are none, a leader
    whose directory is offline may come back.
    """
    elr: tuple[int, ...] = ()
    if len(target.isr) < rules.min_isr and not target.unclean:
        had = {*state.elr, *state.isr} - {*target.isr, *lost}
        elr = tuple(node for node in state.replicas if node in had)
    if target.isr:
        return elr, ()
    last_known = state.last_known_elr if state.leader == NO_LEADER else (state.leader,)
    hoped = tuple(node for node in last_known if node in state.replicas and node not in emptied)
    if not elr and offline.issuperset(hoped):
        hoped += tuple(node for node in state.elr if node in lost and node not in {*emptied, *hoped})
    return elr, tuple(node for node in hoped if node not in offline) or hoped
