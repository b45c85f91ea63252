"""Finding the voters in a log: when a node starts, when it fetches, and when it installs a snapshot."""

from __future__ import annotations

from typing import Final

from penstock.raft.control_records import voters_in
from penstock.raft.log import RaftLog
from penstock.raft.messages import OffsetAndEpoch
from penstock.raft.voters import VoterHistory, VoterSet
from penstock.records.batch import iter_headers

_READ_BYTES: Final = 1 << 20


def load_voters(static: VoterSet, log: RaftLog) -> VoterHistory:
    """The voters that the latest snapshot and the log behind it name; `static` when they name none."""
    history = VoterHistory(static)
    snapshot = log.latest_snapshot
    if snapshot is not None:
        history.begin_at(snapshot.offset, voters_of_snapshot(log, snapshot))
    offset = log.start.offset if snapshot is None else max(snapshot.offset, log.start.offset)
    while offset < log.end_offset:
        data = log.read(offset, _READ_BYTES)
        replay_voters(history, data, log.end_offset)
        for _, header in iter_headers(data):
            offset = max(offset, header.next_offset)
    return history


def replay_voters(history: VoterHistory, batches: bytes, end_offset: int) -> None:
    """Take in the voters that these batches name, as far as the log holds the batches."""
    for offset, voters in voters_in(batches):
        if history.latest_offset < offset < end_offset:
            history.add(offset, voters)


def voters_of_snapshot(log: RaftLog, snapshot: OffsetAndEpoch) -> VoterSet | None:
    """The voters that a snapshot names. They stand at its beginning, before any other record."""
    chunk = log.read_snapshot(snapshot, 0, _READ_BYTES)
    assert chunk is not None, "a snapshot that is known is there"
    named = [voters for _, voters in voters_in(chunk.data)]
    return named[-1] if named else None
