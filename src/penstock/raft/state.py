"""Everything a node of the quorum knows, with what must hold of it. The rest of the package are functions on
it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from penstock.clock import Clock
from penstock.raft.log import RaftLog
from penstock.raft.messages import OffsetAndEpoch, Request, Response
from penstock.raft.roles import Candidate, Follower, Leader, Resigned, Role
from penstock.raft.timeouts import Timeouts
from penstock.raft.voters import VoterHistory


class Election(NamedTuple):
    """What of an election must survive a crash: Kafka keeps it in `quorum-state`."""

    epoch: int
    voted_for: int | None
    leader_id: int | None


@dataclass(slots=True)
class State:
    """One node's. Changed by one thread at a time."""

    node_id: int
    voter_history: VoterHistory
    """The voters, as the settings or the log name them. A node that is not among them is an observer: it
    fetches, and does not stand for election."""
    log: RaftLog
    clock: Clock
    random: Random
    timeouts: Timeouts
    epoch: int
    """Never goes back, and is durable before a message that says it leaves."""
    voted_for: int | None
    """In this epoch. Once set it stays until the epoch ends, and is durable before the answer leaves."""
    role: Role
    high_watermark: int = 0
    """Everything below is committed: a majority has it durable, and no later leader can lack it. Never goes
    back and never exceeds the log's end. After a start it is 0 until the leader reports more."""
    installed: OffsetAndEpoch | None = None
    """A snapshot that took the place of the log since the last `ready`. Replay begins with it."""
    unflushed: bool = False
    """Whether something was appended since the log was made durable."""
    outbox: list[Request | Response] = field(default_factory=list)
    """What waits for the next `ready`: nothing leaves before everything it rests on is durable."""
    last_correlation_id: int = 0
    """Begins anywhere, by chance: an answer to a question of the last life must not pass for one of this."""

    @property
    def leader_id(self) -> int | None:
        """The leader of this epoch, as far as this node knows it."""
        match self.role:
            case Leader():
                return self.node_id
            case Follower(leader_id=leader_id):
                return leader_id
        return None

    @property
    def voters(self) -> frozenset[int]:
        """The ids of the voters that count now."""
        return self.voter_history.latest.ids

    @property
    def is_voter(self) -> bool:
        return self.node_id in self.voters

    @property
    def may_stand(self) -> bool:
        """Whether this node may stand for election. A voter may; so may one that is about to leave, while its
        removal may not be committed: it may be the only node whose log the others can accept."""
        history = self.voter_history
        leaving = history.latest_offset >= self.high_watermark and self.node_id in history.previous.ids
        return self.is_voter or leaving

    @property
    def own_vote(self) -> frozenset[int]:
        """This node's vote for itself; none when it is about to leave."""
        return self.voters & {self.node_id}

    @property
    def others(self) -> list[int]:
        """The other voters, in one order everywhere."""
        return sorted(self.voters - {self.node_id})

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    @property
    def log_end(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(self.log.end_offset, self.log.last_epoch)

    @property
    def election(self) -> Election:
        return Election(self.epoch, self.voted_for, self.leader_id)

    def now_ms(self) -> float:
        return self.clock.monotonic() * 1000

    def append(self, batches: bytes) -> int:
        """Append as leader; the end of the log then. Durable with the next `ready`."""
        self.unflushed = True
        return self.log.append(batches, self.epoch)

    def next_correlation_id(self) -> int:
        self.last_correlation_id += 1
        return self.last_correlation_id

    def election_deadline(self) -> float:
        """Between one and two timeouts from now: voters that wait equally long would split every vote."""
        timeout = self.timeouts.election_timeout_ms
        return self.now_ms() + timeout + self.random.uniform(0, timeout)

    def check_invariants(self) -> None:
        """What holds between any two steps."""
        assert 0 <= self.high_watermark <= self.log.end_offset, "committed, and not here"
        assert self.log.last_epoch <= self.epoch, "a batch of an epoch that has not begun"
        match self.role:
            case Leader() as leader:
                self._check_leader(leader)
            case Candidate() | Resigned():
                assert self.may_stand, "an observer stood for election"
                assert self.voted_for == self.node_id, "stood for election without its own vote"
            case Follower(leader_id=leader_id):
                assert leader_id != self.node_id, "follows itself"

    def _check_leader(self, leader: Leader) -> None:
        leaving = self.voter_history.latest_offset >= self.high_watermark
        assert self.is_voter or leaving, "an observer leads"
        assert self.voted_for == self.node_id, "leads without its own vote"
        votes = leader.granted & leader.elected_by
        assert len(votes) > len(leader.elected_by) // 2, "leads without a majority"
        assert self.voters <= leader.progress.keys(), "a voter whose progress nobody watches"
        assert self.log.last_epoch == self.epoch, "leads without a batch of its epoch"
        assert leader.epoch_start_offset < self.log.end_offset
        for node, progress in leader.progress.items():
            assert progress.end_offset <= self.log.end_offset, f"node {node} has more than its leader"
