"""Share groups: members come, share partitions, go, and are timed out; a restart remembers all of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.groups.messages import GroupKind, ShareHeartbeat, ShareHeartbeatResult
from penstock.groups.settings import GroupSettings
from penstock.groups.share_records import StateTopic
from penstock.groups.simple_assignor import assign
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.groups.stage import CLIENT, GROUP, Stage


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.topics.make("t", 4)
    return stage


def beat(
    stage: Stage, member: str, epoch: int = 0, topics: tuple[str, ...] | None = ("t",), group: str = GROUP
) -> ShareHeartbeatResult:
    return stage.groups.share_heartbeat(ShareHeartbeat(group, member, epoch, None, topics, CLIENT)).result()


def refusal(stage: Stage, member: str, epoch: int = 0, topics: tuple[str, ...] | None = ("t",)) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        beat(stage, member, epoch, topics)
    return refused.value.code


def size(result: ShareHeartbeatResult) -> int:
    return sum(len(indexes) for indexes in (result.assignment or {}).values())


def test_members_share_the_partitions(stage: Stage) -> None:
    first = beat(stage, "a")
    assert (first.member_epoch, size(first), first.heartbeat_interval_ms) == (1, 4, 5000)
    second = beat(stage, "b")
    assert (second.member_epoch, size(second)) == (2, 2)
    assert size(beat(stage, "a", 1, None)) == 2
    assert beat(stage, "a", 2, None).assignment is None, "nothing new"


def test_more_members_than_partitions_share_them(stage: Stage) -> None:
    for member in "abcdef":
        beat(stage, member)
    described = stage.groups.describe_share(GROUP).result()
    last = [
        beat(stage, member.member_id, 6, ("t",)) for member in described.members if member.member_epoch == 6
    ]
    assert all(size(result) == 1 for result in last)


def test_a_member_that_leaves_gives_its_partitions_to_the_others(stage: Stage) -> None:
    beat(stage, "a")
    beat(stage, "b")
    assert size(beat(stage, "a", 1, None)) == 2
    assert beat(stage, "b", -1, None).member_epoch == -1
    assert size(beat(stage, "a", 2, None)) == 4


def test_a_member_that_is_silent_is_removed(stage: Stage) -> None:
    beat(stage, "a")
    stage.wait(45_001)
    assert refusal(stage, "a", 1, None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.groups.describe_share(GROUP).result().state == "Empty"


def test_a_topic_that_grows_is_shared_anew(stage: Stage) -> None:
    beat(stage, "a")
    stage.topics.make("t", 6)
    grown = beat(stage, "a", 1, None)
    assert (grown.member_epoch, size(grown)) == (2, 6)


def test_a_restart_remembers_members_and_topics(stage: Stage) -> None:
    beat(stage, "a")
    beat(stage, "b")
    before = stage.groups.describe_share(GROUP).result()
    stage.reload()
    assert stage.groups.describe_share(GROUP).result() == before
    known = stage.groups.share_topics(GROUP).result()
    assert list(known.values()) == [StateTopic("t", frozenset({0, 1, 2, 3}))]
    stage.wait(45_001)
    assert stage.groups.describe_share(GROUP).result().members == (), "sessions begin anew, and end"


def test_an_empty_group_stays_until_it_is_deleted(stage: Stage) -> None:
    beat(stage, "a")
    beat(stage, "a", -1, None)
    stage.wait(8 * 24 * 3600 * 1000)
    assert stage.groups.kind_of(GROUP).result() is GroupKind.SHARE
    stage.groups.delete_group(GROUP).result()
    assert stage.groups.kind_of(GROUP).result() is None
    stage.reload()
    assert stage.groups.kind_of(GROUP).result() is None


def test_requests_that_make_no_sense_are_refused(stage: Stage) -> None:
    assert refusal(stage, "", 0) is ErrorCode.INVALID_REQUEST
    assert refusal(stage, "a", 0, None) is ErrorCode.INVALID_REQUEST
    assert refusal(stage, "a", -2) is ErrorCode.INVALID_REQUEST
    assert refusal(stage, "a", 1) is ErrorCode.GROUP_ID_NOT_FOUND
    beat(stage, "a")
    assert refusal(stage, "b", 1, None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(stage, "a", 9, None) is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_group_has_a_largest_size() -> None:
    stage = Stage(GroupSettings(share_max_size=1))
    stage.topics.make("t", 4)
    beat(stage, "a")
    assert refusal(stage, "b") is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_kinds_of_groups_do_not_mix(stage: Stage) -> None:
    beat(stage, "a")
    assert stage.join("x").result().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    with pytest.raises(KafkaError) as refused:
        stage.consume("m").result()
    assert refused.value.code is ErrorCode.GROUP_ID_NOT_FOUND
    other = Stage()
    other.topics.make("t", 1)
    other.consume("m").result()
    assert refusal(other, "a") is ErrorCode.GROUP_ID_NOT_FOUND


@given(
    st.dictionaries(
        st.text("abcdef", min_size=1, max_size=3), st.frozensets(st.sampled_from([b"x", b"y", b"z"]))
    ),
    st.dictionaries(st.sampled_from([b"x", b"y", b"z"]), st.integers(1, 7)),
)
def test_every_partition_that_somebody_wants_has_a_reader(
    members: dict[str, frozenset[bytes]], topics: dict[bytes, int]
) -> None:
    found = assign(members, topics)
    assert found.keys() == members.keys()
    given_out = {
        (t, i) for assignment in found.values() for t, indexes in assignment.items() for i in indexes
    }
    wanted = {t for names in members.values() for t in names if t in topics}
    assert given_out == {(t, i) for t in wanted for i in range(topics[t])}
    for member, assignment in found.items():
        assert assignment.keys() <= members[member]
        assert bool(assignment) == bool(members[member] & topics.keys())
