"""One node of a simulated quorum: the real core and the real log, on a disk that forgets and a clock of its
own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from typing import Final

from penstock.controller.quorum_log import QuorumLog
from penstock.controller.quorum_state import read_election, write_election
from penstock.raft.control_records import voters_batch
from penstock.raft.messages import OffsetAndEpoch, Request, Response
from penstock.raft.raft import NotLeader, Raft, VoterChangeRefused
from penstock.raft.timeouts import Timeouts
from penstock.raft.voters import VoterSet
from penstock.records.batch import iter_headers
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.settings import TopicSettings
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from penstock.testing.simulation.machine_clock import MachineClock
from penstock.testing.simulation.world import World

PATH: Final = "/data/__cluster_metadata-0"
# Small pieces, so that a fetch brings one batch and logs have many segments: more can come in between.
TIMEOUTS: Final = Timeouts(
    election_timeout_ms=150,
    fetch_timeout_ms=300,
    election_backoff_max_ms=100,
    request_timeout_ms=200,
    retry_backoff_ms=10,
    fetch_max_wait_ms=80,
    fetch_max_bytes=1,
    snapshot_max_bytes=40,
)
SETTINGS: Final = dataclasses.replace(
    TopicSettings(), segment_bytes=4096, retention_ms=-1, retention_bytes=-1, max_message_bytes=2**31 - 1
)
MAX_SKEW_MS: Final = 3_600_000.0


class Replayed:
    """A state machine: where it stands, and a digest of everything it was given."""

    def __init__(self, offset: int = 0, digest: str = "") -> None:
        self.offset = offset
        self.digest = digest

    def apply(self, next_offset: int, batch: bytes) -> None:
        self.offset = next_offset
        self.digest = hashlib.sha256(self.digest.encode() + batch).hexdigest()

    def to_snapshot(self, voters: VoterSet | None) -> bytes:
        """As the controller writes one: the voters first, when the log names any, then the state."""
        named = b"" if voters is None else voters_batch(voters, 0)
        state = Record(None, json.dumps([self.offset, self.digest]).encode())
        return named + bytes(encode_batch([state]))

    @classmethod
    def from_snapshot(cls, data: bytes) -> Replayed:
        for position, header in iter_headers(data):
            if not header.is_control:
                return cls(*json.loads(decode_batch(data, position)[0].value or b""))
        raise AssertionError("a snapshot without a state")


class QuorumNode:
    """Alive, paused or dead. `checked` is told after every turn."""

    def __init__(
        self,
        world: World,
        node_id: int,
        voters: frozenset[int],
        send: Callable[[Request | Response], None],
        checked: Callable[[QuorumNode], None],
    ) -> None:
        self.node_id = node_id
        self.disk = SimDisk(world.random)
        self.raft: Raft | None = None
        self.replayed = Replayed()
        self.installed = 0
        """Snapshots that took the place of its log."""
        self._world = world
        self._voters = voters
        self._send = send
        self._checked = checked
        self._clock = MachineClock(world, MAX_SKEW_MS)
        self._turns = 0
        self._paused: list[Request | Response] | None = None

    # Life and death

    def start(self) -> None:
        log = Log.open(self.disk, PATH, SETTINGS, self._clock, clean=False, random=self._world.random)
        self.quorum_log = QuorumLog(log, self.disk)
        self.log = log
        election = read_election(self.disk, PATH)
        self.raft = Raft(
            self.node_id,
            self._voters,
            self.quorum_log,
            self._clock,
            self._world.random,
            election=election,
            timeouts=TIMEOUTS,
        )
        self.replayed = self._from_snapshot(self.quorum_log.latest_snapshot)
        self._turn()

    def kill(self) -> None:
        """The process dies; what it wrote stays."""
        self._stop()
        self.disk.kill()

    def cut_power(self) -> None:
        """What was not synced may be gone or torn."""
        self._stop()
        self.disk.crash()

    def pause(self) -> None:
        """As SIGSTOP does: nothing happens here, and everything that arrives waits."""
        if self._paused is None and self.raft is not None:
            self._paused = []
            self._turns += 1

    def go_on(self) -> None:
        if self._paused is not None:
            waiting, self._paused = self._paused, None
            for message in waiting:
                self.receive(message)
            self._turn()

    def _stop(self) -> None:
        self.raft = None
        self._paused = None
        self._turns += 1

    # Turns

    def receive(self, message: Request | Response) -> None:
        if self._paused is not None:
            self._paused.append(message)
        elif self.raft is not None:
            self.raft.step(message)
            self._turn()

    def propose(self, batch: bytes) -> tuple[int, int] | None:
        """The epoch, and the offset that the high watermark must reach; None when this is no leader."""
        if self.raft is None or self._paused is not None or not self.raft.is_leader:
            return None
        proposed = self.raft.epoch, self.raft.propose(batch)
        self._turn()
        return proposed

    def change_voters(self, voters: VoterSet) -> bool:
        """Whether the change is on its way."""
        if self.raft is None or self._paused is not None:
            return False
        try:
            self.raft.change_voters(voters)
        except (NotLeader, VoterChangeRefused):
            return False
        self._turn()
        return True

    def resign(self) -> None:
        if self.raft is not None and self._paused is None:
            self.raft.resign()
            self._turn()

    def _turn(self) -> None:
        raft = self.raft
        assert raft is not None
        self._turns += 1
        raft.tick()
        ready = raft.ready()
        if ready.election is not None:
            write_election(self.disk, PATH, ready.election, raft.state.voter_history)
        if ready.installed is not None:
            self.replayed = self._from_snapshot(ready.installed)
            self.installed += 1
        self._replay(raft.high_watermark)
        raft.check_invariants()
        self._checked(self)
        for message in ready.messages:
            self._send(message)
        self._wake_later(raft, self._turns)

    def _wake_later(self, raft: Raft, turn: int) -> None:
        def wake() -> None:
            if turn == self._turns:
                self._turn()

        due_in = raft.next_deadline_ms() - self._clock.monotonic() * 1000
        self._world.after(max(1.0, due_in / self._clock.rate), wake)

    # The state machine

    def snapshot(self) -> bool:
        """Keep a snapshot of what is replayed, unless there is one; segments before the last but one go."""
        offset = self.replayed.offset
        latest = self.quorum_log.latest_snapshot
        if self.raft is None or self._paused is not None or (latest is not None and latest.offset >= offset):
            return False
        name = OffsetAndEpoch(offset, self.log.epochs.epoch_of(offset - 1))
        voters = self.raft.state.voter_history.at(offset)
        self.quorum_log.write_snapshot(name, self.replayed.to_snapshot(voters))
        if self.log.expire():
            self.log.remove_expired()
        return True

    def _replay(self, high_watermark: int) -> None:
        while self.replayed.offset < high_watermark:
            data = self.quorum_log.read(self.replayed.offset, 4096)
            for position, header in iter_headers(data):
                if header.next_offset > high_watermark:
                    return
                self.replayed.apply(header.next_offset, data[position : position + header.size_bytes])

    def _from_snapshot(self, snapshot: OffsetAndEpoch | None) -> Replayed:
        if snapshot is None:
            return Replayed()
        chunk = self.quorum_log.read_snapshot(snapshot, 0, 1 << 20)
        assert chunk is not None
        replayed = Replayed.from_snapshot(chunk.data)
        assert replayed.offset == snapshot.offset
        return replayed
