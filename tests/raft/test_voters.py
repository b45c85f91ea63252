"""Voters follow from the log: they join and leave by a record, and a cut or a snapshot takes them along."""

from __future__ import annotations

import pytest

from penstock.controller.quorum import Quorum as DrivenQuorum
from penstock.raft.control_records import voters_batch, voters_in
from penstock.raft.messages import OffsetAndEpoch
from penstock.raft.raft import NotLeader, VoterChangeRefused
from penstock.raft.roles import Follower, Unattached
from penstock.raft.voters import Voter, VoterEndpoint, VoterHistory, VoterSet
from penstock.settings.errors import SettingError
from tests.raft.quorum import Quorum


def ids(*numbers: int) -> VoterSet:
    return VoterSet.of_ids(numbers)


def test_an_observer_becomes_a_voter_and_its_copy_counts() -> None:
    quorum = Quorum(1, 2, observers=(3,))
    quorum.elect(1)
    quorum.wait(1000)
    end = quorum[1].raft.change_voters(ids(1, 2, 3))
    quorum[1].turn()
    quorum.wait(1000)
    assert {node: quorum[node].raft.state.voters for node in (1, 2, 3)} == dict.fromkeys(
        (1, 2, 3), frozenset({1, 2, 3})
    )
    assert quorum[3].raft.high_watermark >= end
    after = quorum[1].propose()
    quorum.carry(without=(2,))
    assert quorum[1].raft.high_watermark >= after


def test_a_leader_that_is_removed_leaves_when_that_is_committed() -> None:
    quorum = Quorum(1, 2, 3)
    quorum.elect(1)
    quorum.wait(1000)
    quorum[1].raft.change_voters(ids(2, 3))
    quorum[1].turn()
    assert quorum[1].raft.is_leader
    quorum.wait(4000)
    assert isinstance(quorum[1].raft.role, Unattached | Follower)
    assert any(quorum[node].raft.is_leader for node in (2, 3))
    assert quorum[1].raft.high_watermark == quorum[2].raft.high_watermark


def test_voters_are_those_of_the_log_after_a_restart() -> None:
    quorum = Quorum(1, 2, observers=(3,))
    quorum.elect(1)
    quorum.wait(1000)
    quorum[1].raft.change_voters(ids(1, 2, 3))
    quorum[1].turn()
    quorum.wait(1000)
    quorum[3].start()
    assert quorum[3].raft.state.is_voter
    assert quorum[3].raft.state.voter_history.kraft_version == 1


def test_a_change_that_is_cut_away_never_was() -> None:
    quorum = Quorum(1, 2, 3, observers=(4,))
    quorum.elect(1)
    quorum.wait(1000)
    quorum[1].raft.change_voters(ids(1, 2, 3, 4))
    quorum[1].turn()
    quorum.wait(6000, without=(1,))
    quorum.wait(3000)
    assert quorum[1].raft.state.voters == {1, 2, 3}
    assert quorum[1].raft.state.voter_history.kraft_version == 0


def test_a_node_that_installs_a_snapshot_learns_its_voters() -> None:
    quorum = Quorum(1, 2, 3, observers=(4,))
    quorum.elect(1)
    quorum.wait(1000)
    quorum[1].raft.change_voters(ids(1, 2))
    quorum[1].turn()
    quorum.carry(without=(4,))
    for _ in range(3):
        quorum[1].propose()
        quorum.carry(without=(4,))
        mark = quorum[1].raft.high_watermark
        snapshot = voters_batch(ids(1, 2), now_ms=0)
        quorum[1].log.write_snapshot(OffsetAndEpoch(mark, quorum[1].raft.epoch), snapshot)
    assert quorum[1].log.start.offset > quorum[4].log.end_offset
    quorum.wait(3000)
    assert quorum[4].log.start == quorum[1].log.latest_snapshot
    assert quorum[4].raft.state.voters == {1, 2}


@pytest.mark.parametrize(
    ("wanted", "why"), [(ids(1, 2), "one voter"), (ids(1, 2, 3, 4, 5), "one voter"), (ids(), "has voters")]
)
def test_voters_join_and_leave_one_at_a_time(wanted: VoterSet, why: str) -> None:
    quorum = Quorum(1, 2, 3)
    quorum.elect(1)
    quorum.wait(1000)
    if wanted == ids(1, 2):
        quorum[1].raft.change_voters(ids(1, 2, 3, 4))
        wanted, why = ids(1, 2, 3), "not committed"
    with pytest.raises(VoterChangeRefused, match=why):
        quorum[1].raft.change_voters(wanted)


def test_a_leader_changes_no_voters_before_something_of_its_epoch_is_committed() -> None:
    quorum = Quorum(1, 2, 3)
    quorum.elect(1)
    quorum[1].raft.state.high_watermark = 0
    with pytest.raises(VoterChangeRefused, match="epoch"):
        quorum[1].raft.change_voters(ids(1, 2))
    with pytest.raises(NotLeader):
        quorum[2].raft.change_voters(ids(1, 2))


def test_the_record_has_kafkas_layout() -> None:
    voter = Voter(3, bytes(range(16)), (VoterEndpoint("CONTROLLER", "host", 40_000),), 0, 1)
    batch = voters_batch(VoterSet.of([voter]), now_ms=7)
    assert list(voters_in(batch)) == [(1, VoterSet((voter,)))]
    expected = (
        b"\x00\x00\x02\x00\x00\x00\x03" + bytes(range(16)) + b"\x02\x0bCONTROLLER\x05host\x9c\x40\x00"
        b"\x00\x00\x00\x01\x00\x00\x00"
    )
    assert expected in batch


def test_history_forgets_what_no_cut_can_bring_back() -> None:
    history = VoterHistory(ids(1))
    for offset, voters in ((5, ids(1, 2)), (9, ids(1, 2, 3)), (12, ids(2, 3))):
        history.add(offset, voters)
    history.forget_before(10)
    assert [history.at(offset) for offset in (9, 10, 13)] == [None, ids(1, 2, 3), ids(2, 3)]
    history.truncate_to(12)
    assert history.latest == ids(1, 2, 3)


def test_a_voter_of_the_log_without_an_address_in_the_settings_is_refused_at_the_start() -> None:
    quorum = Quorum(1)
    member = quorum[1]
    member.raft.change_voters(ids(1, 2))
    member.turn()
    with pytest.raises(SettingError, match=r"controller\.quorum\.voters"):
        DrivenQuorum(member.storage, member.disk, quorum.clock, member.raft.state.random, 1)
