"""Raft with its log and its files, as the controller drives it: propose, take a turn, read what is committed.

The caller holds the controller's lock. A node that is the only voter elects itself when it is built,
and what it proposes is committed when it is durable. With several, requests leave by `post`, which must not
block, and answers to requests of others complete the promises of `receive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final

from penstock.clock import Clock
from penstock.controller.quorum_log import QuorumLog
from penstock.controller.quorum_state import read_election, write_election
from penstock.controller.snapshot_content import Values, batches, snapshot_bytes, snapshot_values
from penstock.coordinator.promise import Promise
from penstock.raft.messages import OffsetAndEpoch, Request, Response, ResponseMessage
from penstock.raft.raft import Raft
from penstock.raft.timeouts import Timeouts
from penstock.records.record import Record, encode_batch
from penstock.settings.errors import invalid
from penstock.storage.disk import Disk
from penstock.storage.log import Log

SNAPSHOT_AFTER_BYTES: Final = 20 * 1024 * 1024
"""Kafka's default of `metadata.log.max.record.bytes.between.snapshots`."""

_READ_BYTES: Final = 1 << 20


class Quorum:
    """One node's part in the quorum: a voter, or an observer when its id is not among the voters."""

    def __init__(
        self,
        log: Log,
        disk: Disk,
        clock: Clock,
        random: Random,
        node_id: int,
        voters: frozenset[int] = frozenset(),
        timeouts: Timeouts | None = None,
        snapshot_after_bytes: int = SNAPSHOT_AFTER_BYTES,
    ) -> None:
        """`voters` are those of the settings; without them this node is the only one. The log may name
        others since, but none whose address the settings do not give."""
        self._disk = disk
        self._clock = clock
        self._path = log.path
        configured = voters or frozenset({node_id})
        self._log = QuorumLog(log, disk)
        self._storage = log
        election = read_election(disk, log.path)
        self.raft = Raft(node_id, configured, self._log, clock, random, election=election, timeouts=timeouts)
        _check_addresses(self.raft.state.voters, configured)
        self.is_alone = self.raft.state.voters == {node_id}
        self._snapshot_after_bytes = snapshot_after_bytes
        self._bytes_since_snapshot = 0  # as they are replayed, at start and later
        self._asked: dict[int, Promise[Response]] = {}  # answers that others wait for, by our own number
        self._last_asked = 0
        self.post: Callable[[Sequence[Request]], None] = _to_nobody
        if self.is_alone:
            self.turn()

    @property
    def committed_offset(self) -> int:
        """Everything below is committed, and durable here."""
        return self.raft.high_watermark

    @property
    def end_offset(self) -> int:
        """Where the next record will stand."""
        return self._log.end_offset

    def propose(self, values: Values) -> int:
        """Append records as one batch: they take effect together or not at all, when the committed offset
        reaches what this returns. NotLeader when this node does not lead."""
        now = self._clock.now_ms()
        batch = encode_batch([Record(None, value, (), now) for value in values])
        return self.raft.propose(bytes(batch))

    def receive(self, read: Callable[[int], Request]) -> Promise[Response]:
        """A request of another node, which `read` makes when it is given a number; the answer comes with a
        later turn, or never: the caller has a deadline and calls `forget`."""
        self._last_asked += 1
        request = read(self._last_asked)
        promise: Promise[Response] = Promise()
        self._asked[self._last_asked] = promise
        self.raft.step(request)
        return promise

    def forget(self, promise: Promise[Response]) -> None:
        """No request waits for this answer any more."""
        self._asked = {number: waiting for number, waiting in self._asked.items() if waiting is not promise}

    def turn(self) -> OffsetAndEpoch | None:
        """Let time pass, make everything durable, then let the messages go. A snapshot that took the log's
        place is told."""
        self.raft.tick()
        ready = self.raft.ready()
        if ready.election is not None:
            write_election(self._disk, self._path, ready.election, self.raft.state.voter_history)
        requests: list[Request] = []
        for message in ready.messages:
            if isinstance(message, ResponseMessage):
                promise = self._asked.pop(message.correlation_id, None)
                if promise is not None:
                    promise.complete(message)
            else:
                requests.append(message)
        if requests:
            self.post(requests)
        return ready.installed

    # What is committed

    def snapshot(self) -> tuple[OffsetAndEpoch | None, Values]:
        """Where the latest snapshot ends and what is in it; nothing at offset 0 when there is none."""
        snapshot = self._log.latest_snapshot
        if snapshot is None:
            return None, []
        whole = self._log.read_snapshot(snapshot, 0, 2**31 - 1)
        assert whole is not None, "a snapshot that is known is there"
        return snapshot, snapshot_values(whole.data)

    def steps_from(self, offset: int) -> Iterator[tuple[int, Values]]:
        """Each committed batch from `offset` on: the offset behind it, and its records; none for a control
        batch."""
        while offset < self.committed_offset:
            data = self._log.read(offset, _READ_BYTES)
            for following, size_bytes, values in batches(data):
                if following > self.committed_offset:
                    return  # what comes with it in one piece may never be committed
                self._bytes_since_snapshot += size_bytes
                offset = following
                yield following, values

    # Snapshots

    @property
    def wants_snapshot(self) -> bool:
        return self._bytes_since_snapshot >= self._snapshot_after_bytes

    def write_snapshot(self, values: Values, offset: int) -> None:
        """Keep what everything below the committed `offset` comes to, so that a start need not replay it."""
        epoch = self._storage.epochs.epoch_of(offset - 1)
        voters = self.raft.state.voter_history.at(offset)
        data = snapshot_bytes(values, self._clock.now_ms(), epoch, voters)
        self._log.write_snapshot(OffsetAndEpoch(offset, epoch), data)
        self._bytes_since_snapshot = 0


def _check_addresses(named: frozenset[int], configured: frozenset[int]) -> None:
    unknown = sorted(named - configured)
    if unknown:
        why = f"the metadata log names the voters {unknown}, whose addresses are not given"
        raise invalid("controller.quorum.voters", None, why, "every voter, as ID@HOST:PORT")


def _to_nobody(requests: Sequence[Request]) -> None:
    """Before there is a network nothing is sent; Raft takes it for lost."""
