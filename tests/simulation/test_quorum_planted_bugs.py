"""Bugs planted in Raft, one per property that it rests on: the simulation notices each.

One more, which chance does not find in minutes, is planted in tests/raft/test_raft.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from penstock.controller.quorum_log import QuorumLog
from penstock.controller.quorum_state import FILE_NAME, write_election
from penstock.raft import elections, following, leading, raft
from penstock.raft.messages import BeginQuorumEpochRequest, OffsetAndEpoch, VoteRequest
from penstock.raft.roles import Follower, Leader
from penstock.raft.state import Election, State
from penstock.raft.transitions import take
from penstock.raft.voters import VoterHistory, VoterSet
from penstock.storage.disk import Disk
from penstock.testing.simulation import quorum_node
from penstock.testing.simulation.quorum import QuorumRun

RUN_MS = 6_000.0
SEEDS = 60

Plant = Callable[[pytest.MonkeyPatch], None]


def vote_twice_in_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    def may_grant(state: State, request: VoteRequest) -> bool:
        mine = state.log_end
        return (request.log_end.epoch, request.log_end.offset) >= (mine.epoch, mine.offset)

    monkeypatch.setattr(elections, "_may_grant", may_grant)


def vote_for_a_shorter_log(monkeypatch: pytest.MonkeyPatch) -> None:
    def may_grant(state: State, request: VoteRequest) -> bool:
        return request.pre_vote or state.voted_for in (None, request.source)

    monkeypatch.setattr(elections, "_may_grant", may_grant)


def fetch_before_the_log_is_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuorumLog, "flush", lambda self: None)


def answer_a_vote_before_it_is_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(disk: Disk, directory: str, election: Election, voters: VoterHistory) -> None:
        elsewhere = os.path.join(directory, "unsynced")
        disk.make_dir(elsewhere)
        write_election(disk, elsewhere, election, voters)
        file = disk.create(os.path.join(directory, FILE_NAME) + ".new")
        file.append(disk.read_bytes(os.path.join(elsewhere, FILE_NAME)))
        file.sync()
        disk.rename(file.path, os.path.join(directory, FILE_NAME))  # and no sync of the directory

    monkeypatch.setattr(quorum_node, "write_election", write)


def accept_a_leader_of_an_older_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    original = following.on_begin_quorum_epoch

    def on_begin(state: State, request: BeginQuorumEpochRequest) -> None:
        if request.epoch < state.epoch and not isinstance(state.role, Leader):
            state.epoch, state.voted_for = request.epoch, None
            take(state, Follower(request.source, state.now_ms() + state.timeouts.fetch_timeout_ms))
        original(state, request)

    monkeypatch.setitem(raft._STEPS, BeginQuorumEpochRequest, on_begin)


def cut_below_the_high_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    def point(state: State, diverging: OffsetAndEpoch) -> int:
        own = state.log.end_of_epoch(diverging.epoch)
        return max(state.log.start.offset, min(own.offset, diverging.offset) - 20)

    monkeypatch.setattr(following, "_truncation_point", point)


# Each with the first seed that finds it; others do, too, and the long form looks from seed 1 on.
BUGS: list[tuple[Plant, int]] = [
    (vote_twice_in_an_epoch, 39),
    (vote_for_a_shorter_log, 1),
    (fetch_before_the_log_is_synced, 1),
    (answer_a_vote_before_it_is_synced, 18),
    (accept_a_leader_of_an_older_epoch, 54),
    (cut_below_the_high_watermark, 13),
]


@pytest.mark.claim("A12")
@pytest.mark.parametrize(("plant", "first"), BUGS, ids=[plant.__name__ for plant, _ in BUGS])
def test_a_bug_planted_in_raft_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    long_form: bool,
    plant: Plant,
    first: int,
) -> None:
    plant(monkeypatch)
    begun = time.monotonic()
    for seed in range(1 if long_form else first, first + SEEDS):
        run = QuorumRun(seed)
        try:
            run.run(RUN_MS)
        except Exception as noticed:
            found = (
                f"seed {seed}, simulated second {run.elapsed_ms / 1000:.1f}, {time.monotonic() - begun:.1f} s"
            )
            record_property("noticed", found)
            print(f"{plant.__name__}: {found}\n  {type(noticed).__name__}: {noticed}")
            return
    pytest.fail(f"not noticed in {SEEDS} runs")


@pytest.mark.claim("A12")
def test_changing_voters_before_the_last_change_is_committed_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two majorities that share no voter become possible."""

    def change_voters(self: raft.Raft, voters: VoterSet) -> int:
        if not isinstance(self.role, Leader):
            raise raft.NotLeader(self.leader_id)
        return leading.take_voters(self.state, self.role, voters)

    monkeypatch.setattr(raft.Raft, "change_voters", change_voters)
    for seed in range(1, SEEDS):
        try:
            QuorumRun(seed, changing_voters=True).run(RUN_MS)
        except AssertionError as noticed:
            print(f"seed {seed}: {noticed}")
            return
    pytest.fail(f"not noticed in {SEEDS} runs")
