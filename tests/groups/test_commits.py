"""Committed offsets: who may commit, what is kept, what expires and when."""

from __future__ import annotations

import pytest

from penstock.coordinator.decision import Producer
from penstock.groups.messages import CommitIdentity
from penstock.groups.offset_records import CommittedOffset
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.markers import TransactionMarker
from tests.groups.stage import GROUP, Stage

DAY_MS = 24 * 3600 * 1000
RETENTION_MS = 7 * DAY_MS


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.topics.make("t", 4)
    stage.topics.make("u", 4)
    return stage


# Who may commit


def test_nobodys_member_commits_to_a_group_without_members(stage: Stage) -> None:
    assert stage.commit(42) is ErrorCode.NONE
    assert stage.committed() == 42
    assert stage.state() == "Empty"


def test_offsets_of_a_group_without_a_name_are_kept_as_ever(stage: Stage) -> None:
    assert stage.commit(42, group_id="") is ErrorCode.NONE
    assert stage.committed(group_id="") == 42


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("stranger", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("own", 0, ErrorCode.ILLEGAL_GENERATION),
        ("own", 2, ErrorCode.ILLEGAL_GENERATION),
        ("own", -1, ErrorCode.ILLEGAL_GENERATION),
        ("own", 1, ErrorCode.NONE),
    ],
)
def test_a_group_with_members_takes_commits_of_their_generation_only(
    stage: Stage, member: str, generation: int, code: ErrorCode
) -> None:
    (own,), _ = stage.stable(1)
    assert stage.commit(1, own, 1) is ErrorCode.NONE
    assert stage.commit(42, own if member == "own" else member, generation) is code
    assert stage.committed() == (42 if code is ErrorCode.NONE else 1)


@pytest.mark.parametrize(
    ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_member_of_a_group_that_is_not_there_is_told_what_its_version_knows(
    stage: Stage, version: int, code: ErrorCode
) -> None:
    assert stage.commit(1, "m", 3, version=version) is code
    assert stage.state() is None


def test_a_commit_while_members_join_counts_and_one_before_the_assignment_does_not(stage: Stage) -> None:
    (own,), generation = stage.stable(1)
    stage.enter()
    assert stage.commit(5, own, generation) is ErrorCode.NONE
    stage.join(own)
    assert stage.commit(6, own, generation + 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.committed() == 5


def test_metadata_is_kept_and_too_much_of_it_is_refused_for_that_partition_alone(stage: Stage) -> None:
    identity = CommitIdentity("", None, -1, 9)
    wanted = {
        ("t", 0): CommittedOffset(1, 3, "é" * 4096, stage.clock.ms),
        ("t", 1): CommittedOffset(2, 3, "x" * 4097, stage.clock.ms),
    }
    assert stage.groups.commit(GROUP, identity, wanted).result() == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.OFFSET_METADATA_TOO_LARGE,
    }
    stage.reload()
    found = stage.groups.fetch(GROUP, [("t", 0), ("t", 1)]).result()
    assert found == {("t", 0): wanted["t", 0], ("t", 1): None}


def test_a_commit_is_seen_only_when_it_is_committed(stage: Stage) -> None:
    stage.commit(1)
    stage.log.commits_at_once = False
    committed = stage.groups.commit(
        GROUP, CommitIdentity("", None, -1, 9), {("t", 0): CommittedOffset(2, -1, "", 0)}
    )
    fetched = stage.groups.fetch(GROUP, [("t", 0)])
    assert (committed.done, fetched.done) == (False, False)
    stage.log.commit()
    assert committed.done
    assert stage.committed() == 2


# Reading and deleting


def test_without_names_everything_that_was_committed_is_told(stage: Stage) -> None:
    stage.commit(1)
    stage.commit(2, topic="u", partition=3)
    found = stage.groups.fetch(GROUP, None).result()
    assert {
        place: offset.offset for place, offset in found.items() if isinstance(offset, CommittedOffset)
    } == {
        ("t", 0): 1,
        ("u", 3): 2,
    }


def test_offsets_of_a_topic_that_a_member_reads_cannot_be_deleted(stage: Stage) -> None:
    (own,), generation = stage.stable(1)
    stage.commit(1, own, generation)
    stage.commit(2, own, generation, topic="u")
    places = [("t", 0), ("u", 0), ("u", 1)]
    assert stage.groups.delete_offsets(GROUP, places).result() == {
        ("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("u", 0): ErrorCode.NONE,
        ("u", 1): ErrorCode.NONE,
    }
    stage.reload()
    assert (stage.committed(), stage.committed(topic="u")) == (1, None)


def test_offsets_of_a_group_that_is_not_there_cannot_be_deleted(stage: Stage) -> None:
    with pytest.raises(KafkaError) as error:
        stage.groups.delete_offsets(GROUP, [("t", 0)]).result()
    assert error.value.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_deleted_with_its_offsets_when_nobody_is_in_it(stage: Stage) -> None:
    (own,), generation = stage.stable(1)
    stage.commit(1, own, generation)
    with pytest.raises(KafkaError) as error:
        stage.groups.delete_group(GROUP).result()
    assert error.value.code is ErrorCode.NON_EMPTY_GROUP
    stage.leave((own, None))
    stage.groups.delete_group(GROUP).result()
    for _ in range(2):
        assert stage.state() is None
        assert stage.committed() is None
        stage.log.compact(drop_tombstones=True)
        stage.reload()
    assert stage.log.is_empty


def test_positions_in_a_topic_that_was_deleted_go_with_it(stage: Stage) -> None:
    stage.commit(1)
    stage.commit(2, topic="u")
    stage.groups.topics_deleted({"t": b"t" * 16})
    stage.reload()
    assert (stage.committed(), stage.committed(topic="u")) == (None, 2)


# Expiry


def test_offsets_of_a_simple_group_expire_each_by_itself_and_the_group_with_the_last(stage: Stage) -> None:
    stage.commit(1)
    stage.wait(3 * DAY_MS)
    stage.commit(2, topic="u")
    stage.wait(5 * DAY_MS)
    assert (stage.committed(), stage.committed(topic="u")) == (None, 2)
    stage.wait(5 * DAY_MS)
    assert stage.state() is None
    stage.reload()
    assert stage.state() is None


def test_a_group_with_members_keeps_what_they_read_however_old(stage: Stage) -> None:
    (own,), generation = stage.stable(1, session_ms=1_800_000)
    stage.commit(1, own, generation)
    stage.commit(2, own, generation, topic="u")
    for _ in range(2 * RETENTION_MS // 1_500_000):
        stage.wait(1_500_000)
        stage.beat(own, generation)
    assert (stage.committed(), stage.committed(topic="u")) == (1, None)


def test_retention_counts_from_when_the_group_became_empty_and_survives_a_restart(stage: Stage) -> None:
    (own,), generation = stage.stable(1, session_ms=1_800_000)
    stage.commit(1, own, generation)
    for _ in range(RETENTION_MS // 1_500_000):
        stage.wait(1_500_000)
        stage.beat(own, generation)
    stage.leave((own, None))
    stage.wait(RETENTION_MS - DAY_MS)
    stage.reload()
    assert stage.committed() == 1
    stage.wait(DAY_MS + 600_000)
    assert stage.committed() is None


def test_nothing_expires_during_a_rebalance(stage: Stage) -> None:
    long_ms = 2**31 - 1
    (own,), generation = stage.stable(1, session_ms=1_800_000, rebalance_ms=long_ms, topics=("u",))
    stage.commit(1, own, generation)
    stage.enter(rebalance_ms=long_ms, topics=("u",))
    for _ in range(2 * RETENTION_MS // 200_000):
        stage.wait(200_000)
        stage.beat(own, generation)
    assert stage.committed() == 1


def test_members_of_another_kind_than_consumers_keep_everything(stage: Stage) -> None:
    (own,), generation = stage.stable(1, session_ms=1_800_000, protocol_type="connect")
    stage.commit(1, own, generation)
    for _ in range(2 * RETENTION_MS // 1_500_000):
        stage.wait(1_500_000)
        stage.beat(own, generation)
    assert stage.committed() == 1


def test_an_old_client_may_set_the_expiry_of_its_offsets_itself(stage: Stage) -> None:
    stage.commit(1, expire_ms=stage.clock.ms + 600_000)
    stage.commit(2, topic="u")
    stage.reload()
    stage.wait(1_300_000)
    assert (stage.committed(), stage.committed(topic="u")) == (None, 2)


def test_many_offsets_expire_in_several_batches() -> None:
    stage = Stage(GroupSettings(offsets_retention_ms=1000, offsets_retention_check_interval_ms=10_000))
    for number in range(60):
        wanted = {("t", index): CommittedOffset(1, -1, "", stage.clock.ms) for index in range(100)}
        stage.groups.commit(f"g{number}", CommitIdentity("", None, -1, 9), wanted)
    stage.wait(10_100)
    assert [promise.result() for promise in stage.groups.list_groups()] == [[]]
    stage.log.compact(drop_tombstones=True)
    assert stage.log.is_empty


# Transactions


def _commit_in_transaction(stage: Stage, offset: int) -> None:
    identity = CommitIdentity("", None, -1, 3)
    wanted = {("t", 0): CommittedOffset(offset, -1, "", stage.clock.ms)}
    assert stage.groups.commit(GROUP, identity, wanted, Producer(9, 0)).result() == {("t", 0): ErrorCode.NONE}


def _end(stage: Stage, *, commit: bool) -> None:
    stage.groups.runtime.append_marker(0, TransactionMarker(9, 0, 0, commit, 2))


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("commit", "offset"), [(True, 5), (False, 1)])
def test_offsets_of_a_transaction_count_when_it_commits(
    stage: Stage, restarts: bool, commit: bool, offset: int
) -> None:
    stage.commit(1)
    _commit_in_transaction(stage, 5)
    assert stage.committed() == 1
    if restarts:
        stage.reload()
    unstable = stage.groups.fetch(GROUP, [("t", 0), ("t", 1)], require_stable=True).result()
    assert unstable == {("t", 0): ErrorCode.UNSTABLE_OFFSET_COMMIT, ("t", 1): None}
    _end(stage, commit=commit)
    if restarts:
        stage.reload()
    assert stage.committed() == offset
    stable = stage.groups.fetch(GROUP, [("t", 0)], require_stable=True).result()["t", 0]
    assert isinstance(stable, CommittedOffset)


def test_a_commit_outside_of_the_transaction_that_came_later_stays(stage: Stage) -> None:
    _commit_in_transaction(stage, 5)
    stage.commit(7)
    _end(stage, commit=True)
    assert stage.committed() == 7
    stage.log.compact()
    stage.reload()
    assert stage.committed() == 7


def test_deleting_a_group_takes_back_what_open_transactions_committed(stage: Stage) -> None:
    stage.commit(1)
    _commit_in_transaction(stage, 5)
    stage.groups.delete_group(GROUP).result()
    _end(stage, commit=True)
    assert stage.committed() is None


def test_the_internal_topic_is_written_in_the_codec_of_its_setting() -> None:
    plain, packed = Stage(), Stage(GroupSettings(offsets_topic_codec=4))
    for stage in (plain, packed):
        assert stage.commit(7, metadata="x" * 4000) is ErrorCode.NONE
        stage.reload()
        assert stage.committed() == 7
    assert packed.log.size_bytes < plain.log.size_bytes / 10
