"""The classic protocol, step by step."""

from __future__ import annotations

import pytest

from penstock.groups.messages import UNKNOWN_MEMBER_ID
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.groups.stage import GROUP, REBALANCE_MS, SESSION_MS, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


# Joining


def test_a_new_member_is_given_an_id_and_has_to_join_with_it(stage: Stage) -> None:
    first = stage.join().result()
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("client-")
    assert stage.state() == "Empty"


def test_an_old_client_that_cannot_be_told_its_id_is_let_in_at_once(stage: Stage) -> None:
    promise = stage.join(version=3)
    stage.wait(3000)
    assert promise.result().error is ErrorCode.NONE


def test_the_first_generation_waits_for_more_members_and_a_little_longer_for_each(stage: Stage) -> None:
    first = stage.enter()[1]
    stage.wait(2900)
    second = stage.enter()[1]
    stage.wait(2900)
    assert not first.done
    stage.wait(200)
    assert (first.result().generation_id, second.result().generation_id) == (1, 1)


def test_the_leader_alone_sees_the_members_and_their_metadata(stage: Stage) -> None:
    (leader_id, leader), (other_id, other) = stage.enter(), stage.enter()
    stage.wait(6000)
    assert leader.result().leader == other.result().leader == leader_id
    assert {member.member_id for member in leader.result().members} == {leader_id, other_id}
    assert other.result().members == ()


def test_a_member_that_joins_a_stable_group_makes_the_others_join_again(stage: Stage) -> None:
    (old,), generation = stage.stable(1)
    new, promise = stage.enter()
    assert stage.beat(old, generation) is ErrorCode.REBALANCE_IN_PROGRESS
    again = stage.join(old)
    assert (again.result().generation_id, promise.result().generation_id) == (generation + 1, generation + 1)
    assert stage.settle({old: again.result(), new: promise.result()}) == generation + 1
    assert stage.state() == "Stable"


def test_a_member_that_does_not_come_back_in_time_is_out(stage: Stage) -> None:
    (gone, stays), generation = stage.stable(2, session_ms=2 * REBALANCE_MS)
    newcomer, promise = stage.enter()
    rejoined = stage.join(stays, session_ms=2 * REBALANCE_MS)
    stage.wait(REBALANCE_MS)
    assert {member.member_id for member in rejoined.result().members + promise.result().members} == {
        stays,
        newcomer,
    }
    assert stage.beat(gone, generation) is ErrorCode.UNKNOWN_MEMBER_ID


def test_protocols_are_voted_on_among_those_that_all_speak(stage: Stage) -> None:
    wishes = [{"a": b"1", "b": b"2"}, {"b": b"3", "c": b"4"}, {"c": b"5", "b": b"6"}]
    promises = [stage.enter(protocols=protocols)[1] for protocols in wishes]
    stage.wait(9000)
    assert {promise.result().protocol_name for promise in promises} == {"b"}
    leader = next(promise.result() for promise in promises if promise.result().members)
    assert [member.metadata for member in leader.members] == [b"2", b"3", b"6"]


def test_a_member_that_shares_no_protocol_with_the_others_is_refused(stage: Stage) -> None:
    stage.stable(1)
    assert stage.join(protocols={"other": b""}).result().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.join(protocol_type="connect").result().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.state() == "Stable"


def test_a_group_of_nothing_is_refused_and_leaves_no_trace(stage: Stage) -> None:
    promise = stage.join(protocols={"range": b""}, protocol_type="")
    assert promise.result().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.state() is None


def test_a_member_nobody_knows_is_told_so(stage: Stage) -> None:
    assert stage.join("stranger").result().error is ErrorCode.UNKNOWN_MEMBER_ID
    stage.stable(1)
    assert stage.join("stranger").result().error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_outside_of_the_brokers_bounds_is_refused(stage: Stage, session_ms: int) -> None:
    assert stage.join(session_ms=session_ms).result().error is ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_group_without_a_name_is_refused(stage: Stage) -> None:
    assert stage.join(group_id="").result().error is ErrorCode.INVALID_GROUP_ID
    assert stage.sync("m", 1, group_id="").result().error is ErrorCode.INVALID_GROUP_ID
    assert stage.beat("m", 1, group_id="") is ErrorCode.INVALID_GROUP_ID
    with pytest.raises(KafkaError) as error:
        stage.leave(("m", None), group_id="")
    assert error.value.code is ErrorCode.INVALID_GROUP_ID


def test_a_full_group_takes_nobody_more() -> None:
    stage = Stage(GroupSettings(classic_max_size=2))
    (one, two), generation = stage.stable(2)
    assert stage.join().result().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.beat(one, generation) is stage.beat(two, generation) is ErrorCode.NONE


def test_a_join_that_is_repeated_gives_the_same_generation_and_does_not_disturb(stage: Stage) -> None:
    (leader, other), generation = stage.stable(2)
    assert stage.join(other).result().generation_id == generation
    assert stage.beat(leader, generation) is ErrorCode.NONE
    assert stage.join(other, topics=("t", "u")).done is False
    assert stage.beat(leader, generation) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_joins_again_asks_for_a_new_generation(stage: Stage) -> None:
    (leader, other), generation = stage.stable(2)
    assert not stage.join(leader).done
    assert stage.beat(other, generation) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_join_on_a_new_connection_takes_the_place_of_the_one_before(stage: Stage) -> None:
    member_id, lost = stage.enter()
    again = stage.join(member_id)
    assert lost.result().error is ErrorCode.REBALANCE_IN_PROGRESS
    stage.wait(6000)
    assert again.result().generation_id == 1


# Syncing


def test_followers_wait_for_the_leaders_assignment(stage: Stage) -> None:
    (leader_id, leader), (other_id, _) = stage.enter(), stage.enter()
    stage.wait(6000)
    waiting = stage.sync(other_id, 1)
    assert not waiting.done
    plan = {leader_id: b"L", other_id: b"O"}
    assert stage.sync(leader_id, leader.result().generation_id, plan).result().assignment == b"L"
    assert (waiting.result().assignment, waiting.result().protocol_name) == (b"O", "range")


def test_a_member_that_the_leader_forgot_gets_nothing(stage: Stage) -> None:
    (leader_id, _), (other_id, _) = stage.enter(), stage.enter()
    stage.wait(6000)
    stage.sync(leader_id, 1, {leader_id: b"L"})
    assert stage.sync(other_id, 1).result() == (ErrorCode.NONE, "consumer", "range", b"")


@pytest.mark.parametrize(
    ("member", "generation", "protocol", "code"),
    [
        (0, 0, None, ErrorCode.ILLEGAL_GENERATION),
        (0, 2, None, ErrorCode.ILLEGAL_GENERATION),
        (None, 1, None, ErrorCode.UNKNOWN_MEMBER_ID),
        (0, 1, "sticky", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_of_the_wrong_one_is_refused_and_changes_nothing(
    stage: Stage, member: int | None, generation: int, protocol: str | None, code: ErrorCode
) -> None:
    members, _ = stage.stable(2)
    before = len(stage.log.items)
    member_id = "stranger" if member is None else members[member]
    assert stage.sync(member_id, generation, {member_id: b"x"}, protocol_name=protocol).result().error is code
    assert len(stage.log.items) == before
    assert stage.state() == "Stable"


def test_a_member_that_never_syncs_is_out_after_the_rebalance_timeout(stage: Stage) -> None:
    (leader_id, _), (silent, _) = stage.enter(session_ms=300_000), stage.enter(session_ms=300_000)
    stage.wait(6000)
    stage.sync(leader_id, 1, {leader_id: b"L"})
    stage.wait(REBALANCE_MS)
    assert stage.beat(silent, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.beat(leader_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_who_waits_for_an_assignment_is_sent_back_when_somebody_new_arrives(stage: Stage) -> None:
    (_, _), (other_id, _) = stage.enter(), stage.enter()
    stage.wait(6000)
    waiting = stage.sync(other_id, 1)
    stage.enter()
    assert waiting.result().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_an_assignment_that_cannot_be_written_is_no_assignment(stage: Stage) -> None:
    (leader_id, _), (other_id, _) = stage.enter(), stage.enter()
    stage.wait(6000)
    waiting = stage.sync(other_id, 1)
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    leader = stage.sync(leader_id, 1, {leader_id: b"L"})
    assert leader.result().error is waiting.result().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.log.refusal = None
    assert stage.beat(leader_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_nobody_hears_of_an_assignment_before_it_is_committed(stage: Stage) -> None:
    leader_id, _ = stage.enter()
    stage.wait(6000)
    stage.log.commits_at_once = False
    synced = stage.sync(leader_id, 1, {leader_id: b"L"})
    assert not synced.done
    stage.log.commit()
    assert synced.result().assignment == b"L"


# Living and leaving


def test_a_member_that_is_silent_for_a_session_is_out(stage: Stage) -> None:
    (quiet, loud), generation = stage.stable(2)
    for _ in range(SESSION_MS // 1000 - 1):
        stage.wait(1000)
        assert stage.beat(loud, generation) is ErrorCode.NONE
    stage.wait(1000)
    assert stage.beat(loud, generation) is ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.beat(quiet, generation) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_is_as_good_as_a_heartbeat(stage: Stage) -> None:
    (member,), generation = stage.stable(1)
    for offset in range(5):
        stage.wait(SESSION_MS - 1)
        assert stage.commit(offset, member, generation) is ErrorCode.NONE


def test_a_member_waiting_for_others_needs_no_heartbeats(stage: Stage) -> None:
    (first, second), generation = stage.stable(2)
    promise = stage.join(first, topics=("u",))
    for _ in range(5):
        stage.wait(SESSION_MS - 1)
        stage.beat(second, generation)
    again = stage.join(second)
    assert promise.result().error is again.result().error is ErrorCode.NONE


def test_an_id_that_nobody_joins_with_is_taken_back(stage: Stage) -> None:
    given = stage.join().result().member_id
    stage.wait(SESSION_MS)
    assert stage.state() is None
    assert stage.join(given).result().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_was_given_out_holds_up_the_rebalance_until_it_is_used_or_expires(stage: Stage) -> None:
    (old,), generation = stage.stable(1)
    stage.join()
    promise = stage.join(old)
    assert not promise.done
    stage.wait(SESSION_MS)
    assert promise.result().generation_id == generation + 1


def test_the_last_one_out_leaves_an_empty_group_behind(stage: Stage) -> None:
    (member,), generation = stage.stable(1)
    assert [result.error for result in stage.leave((member, None))] == [ErrorCode.NONE]
    assert stage.state() == "Empty"
    assert stage.beat(member, generation) is ErrorCode.UNKNOWN_MEMBER_ID
    stage.reload()
    assert stage.state() == "Empty"


def test_several_members_leave_at_once_and_each_is_answered_for_itself(stage: Stage) -> None:
    (one, two, three), generation = stage.stable(3)
    results = stage.leave((one, None), ("stranger", None), (two, "nobody"))
    assert [result.error for result in results] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert stage.beat(three, generation) is ErrorCode.REBALANCE_IN_PROGRESS


def test_the_next_leader_is_one_that_has_joined(stage: Stage) -> None:
    (leader, other), _ = stage.stable(2)
    stage.leave((leader, None))
    again = stage.join(other).result()
    assert (again.leader, len(again.members)) == (other, 1)


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        (0, 0, ErrorCode.ILLEGAL_GENERATION),
        (0, 2, ErrorCode.ILLEGAL_GENERATION),
        (None, 1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_heartbeat_of_the_wrong_one_is_refused(
    stage: Stage, member: int | None, generation: int, code: ErrorCode
) -> None:
    members, _ = stage.stable(2)
    assert stage.beat("stranger" if member is None else members[member], generation) is code


# Static members


def _static(stage: Stage, *names: str) -> dict[str, str]:
    """Static members of a stable group: instance id → member id."""
    promises = {name: stage.join(instance_id=name) for name in names}
    stage.wait(6000)
    results = {name: promise.result() for name, promise in promises.items()}
    stage.settle({result.member_id: result for result in results.values()})
    return {name: result.member_id for name, result in results.items()}


def test_a_static_member_comes_back_without_a_rebalance_and_its_old_self_is_fenced(stage: Stage) -> None:
    ids = _static(stage, "a", "b")
    back = stage.join(instance_id="b").result()
    assert (back.error, back.generation_id) == (ErrorCode.NONE, 1)
    assert back.member_id != ids["b"]
    assert stage.beat(ids["a"], 1, instance_id="a") is ErrorCode.NONE
    assert stage.sync(back.member_id, 1, instance_id="b").result().assignment == ids["b"].encode()
    assert stage.beat(ids["b"], 1, instance_id="b") is ErrorCode.FENCED_INSTANCE_ID
    assert stage.commit(5, ids["b"], 1, instance_id="b") is ErrorCode.FENCED_INSTANCE_ID
    stage.reload()
    assert stage.beat(back.member_id, 1, instance_id="b") is ErrorCode.NONE
    assert stage.sync(back.member_id, 1, instance_id="b").result().assignment == ids["b"].encode()


def test_a_static_leader_that_comes_back_is_told_to_leave_the_assignment_as_it_is(stage: Stage) -> None:
    ids = _static(stage, "a", "b")
    back = stage.join(instance_id="a").result()
    assert (back.leader, back.skip_assignment, len(back.members)) == (back.member_id, True, 2)
    older = stage.join(instance_id="a", version=8).result()
    assert (older.leader, older.skip_assignment, older.members) == (back.member_id, False, ())
    assert older.leader != older.member_id
    assert stage.beat(ids["b"], 1, instance_id="b") is ErrorCode.NONE


def test_a_static_member_that_comes_back_with_another_protocol_makes_a_rebalance(stage: Stage) -> None:
    promises = {name: stage.join(instance_id=name, protocols={"x": b"", "y": b""}) for name in ("a", "b")}
    stage.wait(6000)
    results = {name: promise.result() for name, promise in promises.items()}
    stage.settle({result.member_id: result for result in results.values()})
    assert not stage.join(instance_id="b", protocols={"y": b""}).done
    assert stage.beat(results["a"].member_id, 1, instance_id="a") is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_whose_return_cannot_be_written_stays_who_it_was(stage: Stage) -> None:
    ids = _static(stage, "a")
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert stage.join(instance_id="a").result().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.log.refusal = None
    assert stage.beat(ids["a"], 1, instance_id="a") is ErrorCode.NONE


def test_a_static_member_that_left_during_a_rebalance_keeps_its_place_until_its_session_ends(
    stage: Stage,
) -> None:
    ids = _static(stage, "a", "b")
    newcomer, promise = stage.enter(session_ms=2 * REBALANCE_MS)
    rejoined = stage.join(ids["a"], instance_id="a", rebalance_ms=SESSION_MS // 2)
    stage.wait(SESSION_MS)
    stage.wait(REBALANCE_MS)
    members = rejoined.result().members or promise.result().members
    assert {member.instance_id for member in members} == {"a", None}
    assert newcomer in {member.member_id for member in members}


def test_two_with_one_instance_id_the_second_fences_the_first_that_waits(stage: Stage) -> None:
    first = stage.join(instance_id="a")
    second = stage.join(instance_id="a")
    assert first.result().error is ErrorCode.FENCED_INSTANCE_ID
    stage.wait(6000)
    assert second.result().error is ErrorCode.NONE


def test_an_administrator_removes_a_static_member_by_its_instance_alone(stage: Stage) -> None:
    ids = _static(stage, "a", "b")
    results = stage.leave((UNKNOWN_MEMBER_ID, "a"), (UNKNOWN_MEMBER_ID, "nobody"))
    assert [result.error for result in results] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert stage.beat(ids["b"], 1, instance_id="b") is ErrorCode.REBALANCE_IN_PROGRESS


def test_leaving_under_a_foreign_member_id_is_fenced(stage: Stage) -> None:
    ids = _static(stage, "a", "b")
    assert stage.leave((ids["b"], "a"))[0].error is ErrorCode.FENCED_INSTANCE_ID
    assert stage.beat(ids["a"], 1, instance_id="a") is ErrorCode.NONE


# Restarts


def test_a_stable_group_goes_on_after_a_restart_and_its_members_have_a_whole_session(stage: Stage) -> None:
    members, generation = stage.stable(2)
    stage.wait(SESSION_MS - 1)
    stage.reload()
    stage.wait(SESSION_MS - 1)
    assert [stage.beat(member, generation) for member in members] == [ErrorCode.NONE] * 2
    assert stage.sync(members[1], generation).result().assignment == members[1].encode()


def test_a_rebalance_under_way_is_forgotten_by_a_restart_and_begins_again(stage: Stage) -> None:
    (old,), generation = stage.stable(1)
    _, joining = stage.enter()
    stage.reload()
    with pytest.raises(KafkaError) as error:
        joining.result()
    assert error.value.code is ErrorCode.NOT_COORDINATOR
    assert stage.beat(old, generation) is ErrorCode.NONE


def test_compaction_of_the_internal_topic_changes_nothing(stage: Stage) -> None:
    (one, two), _ = stage.stable(2)
    stage.leave((one, None))
    generation = stage.settle({two: stage.join(two).result()})
    stage.commit(7, two, generation)
    stage.log.compact()
    stage.reload()
    assert stage.beat(two, generation) is ErrorCode.NONE
    assert stage.committed() == 7
    assert stage.beat(one, generation) is ErrorCode.UNKNOWN_MEMBER_ID


def test_while_it_is_loading_a_group_is_not_unknown(stage: Stage) -> None:
    (member,), generation = stage.stable(1)
    stage.commit(7, member, generation)
    stage.groups.runtime.elect(0, stage.log, 99)
    assert stage.beat(member, generation) is ErrorCode.NONE
    assert stage.commit(8, member, generation) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.join(member).result().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.sync(member, generation).result().error is ErrorCode.REBALANCE_IN_PROGRESS
    with pytest.raises(KafkaError) as error:
        stage.groups.fetch(GROUP, None).result()
    assert error.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    with pytest.raises(KafkaError):
        stage.groups.list_groups()
    stage.groups.runtime.load_next()
    assert stage.committed() == 7
