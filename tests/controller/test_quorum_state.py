"""`quorum-state`, as Kafka writes it."""

from __future__ import annotations

import json
from random import Random

import pytest

from penstock.controller.quorum_state import read_election, write_election
from penstock.raft.state import Election
from penstock.raft.voters import VoterHistory, VoterSet
from penstock.storage.errors import Corruption
from penstock.testing.disk import SimDisk


@pytest.mark.parametrize("election", [Election(3, 1, 2), Election(1, None, None), Election(7, 2, None)])
def test_an_election_is_read_as_it_was_written_even_after_a_power_cut(election: Election) -> None:
    disk = SimDisk(Random(1))
    disk.make_dir("/log")
    assert read_election(disk, "/log") is None
    write_election(disk, "/log", election, VoterHistory(VoterSet.of_ids({2, 1})))
    disk.crash()
    assert read_election(disk, "/log") == election


def test_the_file_has_kafkas_fields() -> None:
    disk = SimDisk(Random(1))
    disk.make_dir("/log")
    write_election(disk, "/log", Election(3, None, 1), VoterHistory(VoterSet.of_ids({1, 2})))
    assert json.loads(disk.read_bytes("/log/quorum-state")) == {
        "clusterId": "",
        "leaderId": 1,
        "leaderEpoch": 3,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1}, {"voterId": 2}],
        "data_version": 0,
    }


def test_voters_that_the_log_names_are_not_repeated_in_the_file() -> None:
    disk = SimDisk(Random(1))
    disk.make_dir("/log")
    voters = VoterHistory(VoterSet.of_ids({1}))
    voters.add(7, VoterSet.of_ids({1, 2}))
    write_election(disk, "/log", Election(3, 2, None), voters)
    assert json.loads(disk.read_bytes("/log/quorum-state")) == {
        "leaderId": -1,
        "leaderEpoch": 3,
        "votedId": 2,
        "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
        "data_version": 1,
    }
    assert read_election(disk, "/log") == Election(3, 2, None)


def test_a_damaged_file_is_told_and_not_taken_for_a_new_node() -> None:
    disk = SimDisk(Random(1))
    disk.make_dir("/log")
    disk.write_atomic("/log/quorum-state", b'{"leaderId":1')
    with pytest.raises(Corruption):
        read_election(disk, "/log")
