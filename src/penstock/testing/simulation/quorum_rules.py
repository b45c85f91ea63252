"""What must hold of a quorum as a whole, looked at from outside after every turn of every node.

The five properties of Raft: one leader per epoch; logs that agree on a batch agree on everything before it; a
leader has everything that is committed; what is committed stays; nobody replays anything else. A node's own
invariants are `penstock.raft.state:State.check_invariants`.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from penstock.raft.raft import Raft
from penstock.records.batch import iter_headers
from penstock.testing.simulation.quorum_node import QuorumNode


class Entry(NamedTuple):
    """A batch in somebody's log."""

    base_offset: int
    next_offset: int
    epoch: int
    checksum: int


class Broken(AssertionError):
    """A property of Raft does not hold."""


class QuorumRules:
    """Knows everything that any node ever had."""

    def __init__(self) -> None:
        self.leaders: dict[int, int] = {}
        self.committed: list[Entry] = []
        """From offset 0 on, without a gap."""
        self._committed_in: list[int] = []
        """The epoch of the node that first called `committed[i]` committed."""
        self._entries: dict[int, list[Entry]] = {}
        self._before: dict[tuple[int, int], tuple[Entry, int]] = {}
        self._digests: dict[int, str] = {}
        self._high_watermarks: dict[int, int] = {}

    @property
    def end(self) -> int:
        return self.committed[-1].next_offset if self.committed else 0

    def restarted(self, node: QuorumNode) -> None:
        """Its log is read anew: a crash may have taken something."""
        self._entries.pop(node.node_id, None)
        self._high_watermarks.pop(node.node_id, None)

    def check(self, node: QuorumNode) -> None:
        assert node.raft is not None
        self._logs_match(node)
        if node.raft.is_leader:
            self._one_leader(node, node.raft.epoch)
        self._committed_stays(node, node.raft)
        self._same_replay(node)

    def _one_leader(self, node: QuorumNode, epoch: int) -> None:
        if epoch not in self.leaders:
            self.leaders[epoch] = node.node_id
            self._has_everything(node, epoch)
        elif self.leaders[epoch] != node.node_id:
            raise Broken(
                f"election safety: nodes {self.leaders[epoch]} and {node.node_id} lead epoch {epoch}"
            )

    def _logs_match(self, node: QuorumNode) -> None:
        """Each (offset, epoch) is one batch everywhere, after one and the same predecessor: by induction the
        logs agree on everything before it."""
        known = self._entries.setdefault(node.node_id, [])
        start, end = node.quorum_log.start, node.quorum_log.end_offset
        while known and (known[-1].next_offset > end or known[-1].base_offset < start.offset):
            if known[-1].next_offset > end:
                known.pop()
            else:
                del known[0]
        offset = known[-1].next_offset if known else start.offset
        while offset < end:
            data = node.quorum_log.read(offset, 1 << 20)
            for position, header in iter_headers(data):
                checksum = crc32(data[position : position + header.size_bytes])
                entry = Entry(header.base_offset, header.next_offset, header.leader_epoch, checksum)
                before = known[-1].epoch if known else start.epoch
                first = self._before.setdefault((entry.base_offset, entry.epoch), (entry, before))
                if first != (entry, before):
                    raise Broken(f"log matching: node {node.node_id} has {entry} after {before}, not {first}")
                known.append(entry)
                offset = entry.next_offset

    def _has_everything(self, node: QuorumNode, epoch: int) -> None:
        """Leader completeness: what was committed in earlier epochs is there. What went into a snapshot is
        judged by `_same_replay`."""
        own = {entry.base_offset: entry for entry in self._entries[node.node_id]}
        start = node.quorum_log.start.offset
        for entry, committed_in in zip(reversed(self.committed), reversed(self._committed_in), strict=True):
            if entry.base_offset < start:
                break
            if committed_in < epoch and own.get(entry.base_offset) != entry:
                raise Broken(f"leader completeness: node {node.node_id} leads and lacks {entry}")

    def _committed_stays(self, node: QuorumNode, raft: Raft) -> None:
        high_watermark = raft.high_watermark
        before = self._high_watermarks.get(node.node_id, 0)
        if high_watermark < before:
            raise Broken(
                f"node {node.node_id}: the high watermark goes back from {before} to {high_watermark}"
            )
        if high_watermark == before:
            return
        self._high_watermarks[node.node_id] = high_watermark
        agreed = {entry.base_offset: entry for entry in self.committed if entry.next_offset > before}
        for entry in self._entries[node.node_id]:
            if not before < entry.next_offset <= high_watermark:
                continue
            if entry.base_offset >= self.end:
                self.committed.append(entry)
                self._committed_in.append(raft.epoch)
            elif agreed.get(entry.base_offset, entry) != entry:
                raise Broken(f"committed: node {node.node_id} has {entry}, not {agreed[entry.base_offset]}")

    def _same_replay(self, node: QuorumNode) -> None:
        replayed = node.replayed
        if self._digests.setdefault(replayed.offset, replayed.digest) != replayed.digest:
            raise Broken(
                f"state machine safety: node {node.node_id} replayed something else to {replayed.offset}"
            )

    def check_acknowledged(self, acknowledged: dict[int, Entry]) -> None:
        """Everything that a leader called committed is."""
        by_offset = {entry.base_offset: entry for entry in self.committed}
        for offset, entry in acknowledged.items():
            if by_offset.get(offset) != entry:
                raise Broken(f"lost: {entry} was acknowledged, and {by_offset.get(offset)} stands there")

    def entry_ending_at(self, node: QuorumNode, next_offset: int) -> Entry:
        """What a node has before this offset."""
        return next(
            entry for entry in reversed(self._entries[node.node_id]) if entry.next_offset == next_offset
        )
