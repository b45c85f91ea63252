"""What the leader of a partition knows of its followers: how far each has come, which are in sync, and what
is therefore committed. Pure; `Partition` calls it under its lock with the present end of its log and the
present time.

An ISR changes in two steps. The leader wants a change and asks the controller; until it knows the answer it
counts with the larger set, present or wanted, so that nothing is committed which a leader elected from either
could lack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.replication.surroundings import Assigned

UNKNOWN_OFFSET: Final = -1
UNKNOWN_EPOCH: Final = -1
NEVER: Final = float("-inf")

MayJoin = Callable[[int, int], bool]


@dataclass(slots=True)
class Progress:
    """How far a follower has come, by its own fetches."""

    end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    broker_epoch: int = UNKNOWN_EPOCH
    caught_up_at: float = NEVER
    """The last moment at which it is known to have had everything."""
    fetched_at: float = NEVER
    leader_end: int = 0
    """Where the leader's log ended at that fetch: a follower that reaches it had everything then."""

    def fetched(
        self, offset: int, log_start_offset: int, broker_epoch: int, leader_end: int, now: float
    ) -> None:
        if offset >= leader_end:
            self.caught_up_at = now
        elif offset >= self.leader_end:
            self.caught_up_at = max(self.caught_up_at, self.fetched_at)
        self.end_offset, self.log_start_offset = offset, log_start_offset
        self.broker_epoch = broker_epoch
        self.fetched_at, self.leader_end = now, leader_end

    def is_caught_up(self, leader_end: int, now: float, lag_seconds: float) -> bool:
        return self.end_offset == leader_end or now - self.caught_up_at <= lag_seconds


class WantedIsr(NamedTuple):
    """A change that the controller is, or will be, asked for. `partition_epoch` is of the state that it
    changes."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    """(broker id, broker epoch): the controller refuses an earlier life of a broker (KIP-903)."""

    @property
    def members(self) -> frozenset[int]:
        return frozenset(node for node, _ in self.isr)


class Leadership:
    """One leader epoch of one partition. Invariant: this node is in `isr`, and `isr` is among the
    replicas."""

    def __init__(self, node_id: int, assigned: Assigned, start_offset: int, now: float) -> None:
        self.node_id = node_id
        self.leader_epoch = assigned.leader_epoch
        self.start_offset = start_offset
        """Where the log ended when this epoch began: a follower is in sync from there on, not before."""
        self.partition_epoch = assigned.partition_epoch
        self.isr = frozenset(assigned.isr)
        self.wanted: WantedIsr | None = None
        self.followers: dict[int, Progress] = {}
        self._renew_followers(assigned, now)

    def _renew_followers(self, assigned: Assigned, now: float) -> None:
        """Those in the ISR get the whole time to show that they are still there."""
        self.followers = {
            node: self.followers.get(node) or Progress(caught_up_at=now if node in assigned.isr else NEVER)
            for node in assigned.replicas
            if node != self.node_id
        }

    @property
    def is_alone(self) -> bool:
        """Whether there is no other replica: what is written is committed."""
        return not self.followers

    @property
    def maximal_isr(self) -> frozenset[int]:
        return self.isr if self.wanted is None else self.isr | self.wanted.members

    def update(self, assigned: Assigned, now: float) -> None:
        """The metadata says something newer of this epoch. What was wanted has come true, or was
        overtaken."""
        if assigned.partition_epoch > self.partition_epoch:
            self.adopt(frozenset(assigned.isr), assigned.partition_epoch)
        self._renew_followers(assigned, now)

    def adopt(self, isr: frozenset[int], partition_epoch: int) -> None:
        """The ISR as the controller has it at `partition_epoch`, from the metadata or from its answer."""
        if partition_epoch >= self.partition_epoch:
            self.isr, self.partition_epoch, self.wanted = isr, partition_epoch, None

    def fetched(
        self, node: int, offset: int, log_start_offset: int, broker_epoch: int, end_offset: int, now: float
    ) -> None:
        self.followers[node].fetched(offset, log_start_offset, broker_epoch, end_offset, now)

    def effective_min_isr(self, min_isr: int) -> int:
        """More than there are replicas is never asked for."""
        return min(min_isr, len(self.followers) + 1)

    def has_enough(self, min_isr: int) -> bool:
        return len(self.isr) >= self.effective_min_isr(min_isr)

    def committed(
        self, end_offset: int, min_isr: int, now: float, lag_seconds: float, may_join: MayJoin
    ) -> int | None:
        """Up to where all replicas that count have everything; None while too few are in sync to commit
        anything (KIP-966). A follower that is about to join counts already, or it would never catch up
        with a busy leader."""
        if not self.has_enough(min_isr):
            return None
        least, maximal = end_offset, self.maximal_isr
        for node, follower in self.followers.items():
            if follower.end_offset < least and (
                node in maximal
                or (
                    follower.is_caught_up(end_offset, now, lag_seconds)
                    and may_join(node, follower.broker_epoch)
                )
            ):
                least = follower.end_offset
        return least

    def want_expanded(self, node: int, high_watermark: int, may_join: MayJoin) -> bool:
        """Want `node` in the ISR when it has everything that is committed, and everything from before this
        epoch."""
        if self.wanted is not None or node in self.isr:
            return False
        follower = self.followers[node]
        in_sync = follower.end_offset >= max(high_watermark, self.start_offset)
        if not in_sync or not may_join(node, follower.broker_epoch):
            return False
        self._want(self.isr | {node})
        return True

    def want_shrunk(self, end_offset: int, now: float, lag_seconds: float) -> bool:
        """Want an ISR without those that have not caught up for too long."""
        if self.wanted is not None:
            return False
        late = {
            node
            for node, follower in self.followers.items()
            if node in self.isr and not follower.is_caught_up(end_offset, now, lag_seconds)
        }
        if late:
            self._want(self.isr - late)
        return bool(late)

    def _want(self, members: frozenset[int]) -> None:
        epochs = {node: follower.broker_epoch for node, follower in self.followers.items()}
        isr = tuple((node, epochs.get(node, UNKNOWN_EPOCH)) for node in sorted(members))
        self.wanted = WantedIsr(self.leader_epoch, self.partition_epoch, isr)

    def forget_wanted(self, wanted: WantedIsr) -> None:
        """The controller did not even try: as if it had never been wanted."""
        if self.wanted == wanted:
            self.wanted = None

    def low_watermark(self, log_start_offset: int, may_join: MayJoin) -> int:
        """The smallest beginning of a log among the replicas that are alive."""
        alive = (each for node, each in self.followers.items() if may_join(node, each.broker_epoch))
        return min([log_start_offset, *(each.log_start_offset for each in alive)])
