"""Cores whose messages a test carries by hand, on real logs, with a clock that a test sets."""

from __future__ import annotations

from random import Random

from penstock.controller.quorum_log import QuorumLog
from penstock.raft.messages import Request, Response
from penstock.raft.raft import Raft
from penstock.raft.state import Election
from penstock.raft.timeouts import Timeouts
from penstock.records.record import Record, encode_batch
from penstock.settings import TopicSettings
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk


class HandClock:
    def __init__(self) -> None:
        self.ms = 1_000_000.0

    def now_ms(self) -> int:
        return int(self.ms)

    def monotonic(self) -> float:
        return self.ms / 1000


class Member:
    """One node and everything it said that nobody has carried yet."""

    def __init__(self, clock: HandClock, node_id: int, voters: frozenset[int]) -> None:
        self.disk = SimDisk(Random(node_id))
        self._clock, self._id, self._voters = clock, node_id, voters
        self.election: Election | None = None
        self.said: list[Request | Response] = []
        self.start()

    def start(self, timeouts: Timeouts | None = None) -> None:
        self.storage = Log.open(self.disk, "/log", TopicSettings(), self._clock, clean=False)
        self.log = QuorumLog(self.storage, self.disk)
        self.raft = Raft(
            self._id,
            self._voters,
            self.log,
            self._clock,
            Random(self._id),
            election=self.election,
            timeouts=timeouts,
        )
        self.said = []
        self.turn()

    def turn(self) -> None:
        self.raft.tick()
        ready = self.raft.ready()
        self.election = ready.election or self.election
        self.said += ready.messages
        self.raft.check_invariants()

    def hear(self, message: Request | Response) -> None:
        self.raft.step(message)
        self.turn()

    def propose(self, value: bytes = b"value") -> int:
        end = self.raft.propose(batch(value))
        self.turn()
        return end


class Quorum:
    def __init__(self, *voters: int, observers: tuple[int, ...] = ()) -> None:
        self.clock = HandClock()
        self.members = {
            node: Member(self.clock, node, frozenset(voters)) for node in sorted({*voters, *observers})
        }

    def __getitem__(self, node: int) -> Member:
        return self.members[node]

    def carry(self, *, without: tuple[int, ...] = (), rounds: int = 50) -> None:
        """Deliver everything to and fro, but nothing from or to the nodes in `without`."""
        for _ in range(rounds):
            said = [message for member in self.members.values() for message in member.said]
            for member in self.members.values():
                member.said = []
            for message in said:
                if message.source not in without and message.destination not in without:
                    self.members[message.destination].hear(message)

    def wait(self, ms: float, *, without: tuple[int, ...] = ()) -> None:
        """Let time pass in small steps; nothing gets from or to the nodes in `without`."""
        end = self.clock.ms + ms
        while self.clock.ms < end:
            self.clock.ms += 50
            for member in self.members.values():
                member.turn()
            self.carry(without=without, rounds=6)

    def elect(self, node: int, *, without: tuple[int, ...] = ()) -> None:
        """Let one node stand at once and win."""
        self.members[node].raft.state.role.election_deadline = 0.0  # type: ignore[union-attr]
        self.members[node].turn()
        self.carry(without=without, rounds=8)
        assert self.members[node].raft.is_leader


def batch(value: bytes) -> bytes:
    return bytes(encode_batch([Record(None, value)]))
