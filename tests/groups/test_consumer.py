"""The consumer protocol (KIP-848), heartbeat by heartbeat."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from penstock.coordinator.promise import Promise
from penstock.groups.messages import ConsumerHeartbeatResult
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.groups.stage import GROUP, REBALANCE_MS, Stage

SESSION_MS = 45_000


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.topics.make("t", 4)
    return stage


def code_of(promise: Promise[ConsumerHeartbeatResult]) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        promise.result()
    return error.value.code


def _t(stage: Stage, *indexes: int) -> Mapping[bytes, frozenset[int]]:
    topic = stage.topics.find("t")
    assert topic is not None
    return {topic.topic_id: frozenset(indexes)} if indexes else {}


def _two(stage: Stage) -> tuple[int, int]:
    """Members a and b share the topic; their epochs."""
    first = stage.consume("a").result()
    assert first.assignment == _t(stage, 0, 1, 2, 3)
    stage.consume("b").result()
    given_up = stage.consume("a", first.member_epoch).result()
    assert given_up.assignment is not None
    kept = given_up.assignment
    epoch_a = stage.consume("a", first.member_epoch, owned=kept).result().member_epoch
    epoch_b = stage.consume("b", 2).result().member_epoch
    assert stage.state() == "Stable"
    return epoch_a, epoch_b


def test_the_first_member_gets_everything_at_once(stage: Stage) -> None:
    result = stage.consume("a").result()
    assert (result.member_id, result.member_epoch, result.heartbeat_interval_ms) == ("a", 1, 5000)
    assert result.assignment == _t(stage, 0, 1, 2, 3)
    assert stage.state() == "Stable"


def test_a_heartbeat_that_brings_nothing_new_has_no_assignment_and_writes_nothing(stage: Stage) -> None:
    stage.consume("a")
    before = len(stage.log.items)
    assert stage.consume("a", 1).result() == ("a", 1, 5000, None)
    assert len(stage.log.items) == before


def test_a_partition_is_given_up_before_another_gets_it(stage: Stage) -> None:
    stage.consume("a")
    joined = stage.consume("b").result()
    assert (joined.member_epoch, joined.assignment) == (2, {})
    asked = stage.consume("a", 1).result()
    assert asked.member_epoch == 1
    assert asked.assignment is not None
    kept = asked.assignment
    assert len(next(iter(kept.values()))) == 2
    assert stage.consume("b", 2).result().assignment is None
    assert stage.state() == "Reconciling"
    assert stage.consume("a", 1, owned=_t(stage, 0, 1, 2, 3)).result().member_epoch == 1
    released = stage.consume("a", 1, owned=kept).result()
    assert (released.member_epoch, released.assignment) == (2, None)
    given = stage.consume("b", 2).result().assignment
    assert given is not None
    assert given != kept
    assert stage.state() == "Stable"


def test_a_member_that_does_not_give_up_in_time_is_fenced(stage: Stage) -> None:
    stage.consume("a", rebalance_ms=10_000)
    stage.consume("b")
    stage.consume("a", 1)
    for _ in range(3):
        stage.wait(3000)
        stage.consume("b", 2)
        stage.consume("a", 1, owned=_t(stage, 0, 1, 2, 3))
    stage.wait(1000)
    assert code_of(stage.consume("a", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.consume("b", 2).result().assignment == _t(stage, 0, 1, 2, 3)


def test_a_member_that_is_silent_for_a_session_is_out(stage: Stage) -> None:
    _two(stage)
    stage.wait(SESSION_MS - 1)
    stage.consume("b", 2)
    stage.wait(1)
    assert stage.consume("b", 2).result().assignment == _t(stage, 0, 1, 2, 3)
    assert code_of(stage.consume("a", 2)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_has_sessions_and_heartbeats_of_its_own(stage: Stage) -> None:
    stage.topics.configs[GROUP] = {
        "consumer.session.timeout.ms": "50000",
        "consumer.heartbeat.interval.ms": "7000",
    }
    assert stage.consume("a").result().heartbeat_interval_ms == 7000
    stage.wait(49_999)
    assert stage.consume("a", 1).result().member_epoch == 1
    stage.wait(50_000)
    assert code_of(stage.consume("a", 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_frees_partitions_at_once(stage: Stage) -> None:
    epoch_a, epoch_b = _two(stage)
    assert stage.consume("a", -1).result().member_epoch == -1
    assert stage.consume("b", epoch_b).result().assignment == _t(stage, 0, 1, 2, 3)
    assert code_of(stage.consume("a", epoch_a)) is ErrorCode.UNKNOWN_MEMBER_ID
    stage.consume("b", -1)
    assert stage.state() == "Empty"


@pytest.mark.parametrize("epoch", [1, 3, 2**31 - 1])
def test_a_stale_or_future_epoch_is_fenced_and_nothing_changes(stage: Stage, epoch: int) -> None:
    _two(stage)
    before = len(stage.log.items)
    assert code_of(stage.consume("b", epoch, owned=_t(stage, 0))) is ErrorCode.FENCED_MEMBER_EPOCH
    assert len(stage.log.items) == before
    assert stage.consume("b", 2).result().member_epoch == 2


def test_the_epoch_before_is_good_when_the_answer_may_have_been_lost(stage: Stage) -> None:
    stage.consume("a")
    stage.topics.make("t", 5)
    assert stage.consume("a", 1).result().member_epoch == 2
    again = stage.consume("a", 1, owned=_t(stage, 0, 1, 2, 3)).result()
    assert again.member_epoch == 2
    assert code_of(stage.consume("a", 1, owned={bytes(16): [0]})) is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_may_join_again_under_its_own_id(stage: Stage) -> None:
    _two(stage)
    again = stage.consume("b").result()
    assert (again.member_epoch, again.assignment) == (2, {next(iter(_t(stage, 0))): frozenset({2, 3})})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"owned": {bytes(16): [0]}}, ErrorCode.INVALID_REQUEST),
        ({"topics": None}, ErrorCode.INVALID_REQUEST),
        ({"epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"assignor": "mine"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"regex": "x" * 5000}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_refused_and_leaves_no_trace(
    stage: Stage, changes: dict[str, object], code: ErrorCode
) -> None:
    assert code_of(stage.consume(**{"member_id": "a", **changes})) is code  # type: ignore[arg-type]
    assert stage.log.is_empty
    assert stage.state() is None


def test_an_older_client_is_given_its_id(stage: Stage) -> None:
    assert stage.consume("", version=0).result().member_id.startswith("id")


def test_a_full_group_takes_nobody_more() -> None:
    stage = Stage(GroupSettings(consumer_max_size=1))
    stage.consume("a")
    assert code_of(stage.consume("b")) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_the_protocol_can_be_switched_off() -> None:
    stage = Stage(GroupSettings(consumer_protocol_offered=False))
    assert code_of(stage.consume("a")) is ErrorCode.UNSUPPORTED_VERSION


def test_the_assignor_that_most_members_ask_for_is_used(stage: Stage) -> None:
    stage.topics.make("u", 4)
    stage.consume("a", assignor="range", topics=("t", "u"))
    stage.consume("b", assignor="range", topics=("t", "u"))
    described = stage.groups.describe_consumer(GROUP).result()
    assert described.assignor == "range"
    targets = {member.member_id: set(member.target.values()) for member in described.members}
    assert targets == {"a": {frozenset({0, 1})}, "b": {frozenset({2, 3})}}


# Topics that come, grow, go


def test_a_topic_that_grows_is_shared_out_anew(stage: Stage) -> None:
    stage.consume("a")
    stage.topics.make("t", 6)
    result = stage.consume("a", 1).result()
    assert (result.member_epoch, result.assignment) == (2, _t(stage, 0, 1, 2, 3, 4, 5))


def test_a_topic_that_is_made_later_is_found(stage: Stage) -> None:
    assert stage.consume("a", topics=("later",)).result().assignment == {}
    topic_id = stage.topics.make("later", 1)
    assert stage.consume("a", 1).result().assignment == {topic_id: frozenset({0})}


def test_a_topic_that_is_deleted_and_made_again_is_another(stage: Stage) -> None:
    old = stage.topics.find("t")
    assert old is not None
    stage.consume("a")
    stage.topics.remove("t")
    gone = stage.consume("a", 1).result()
    assert gone.assignment == {}
    new_id = stage.topics.make("t", 4)
    assert new_id != old.topic_id
    back = stage.consume("a", gone.member_epoch, owned={}).result()
    assert back.assignment == {new_id: frozenset(range(4))}


def test_topics_by_regular_expression_follow_what_there_is(stage: Stage) -> None:
    one = stage.topics.make("logs-1", 1)
    result = stage.consume("a", topics=None, regex="logs-.*").result()
    assert result.assignment == {one: frozenset({0})}
    two = stage.topics.make("logs-2", 1)
    stage.topics.make("other-logs-3", 1)
    result = stage.consume("a", 1).result()
    assert result.assignment == {one: frozenset({0}), two: frozenset({0})}
    stage.reload()
    assert stage.consume("a", result.member_epoch).result().assignment is None
    described = stage.groups.describe_consumer(GROUP).result()
    assert described.members[0].topic_regex == "logs-.*"


def test_an_expression_made_to_explode_takes_no_time(stage: Stage) -> None:
    stage.topics.make("a" * 249, 1)
    assert stage.consume("m", topics=None, regex="(a+)+b").result().assignment == {}


# Static members


def test_a_static_member_that_leaves_for_a_while_keeps_its_partitions(stage: Stage) -> None:
    stage.consume("a", instance_id="i")
    stage.consume("b")
    kept = stage.consume("a", 1, instance_id="i").result().assignment
    stage.consume("a", 1, instance_id="i", owned=kept)
    stage.consume("b", 2)
    assert stage.consume("a", -2, instance_id="i").result().member_epoch == -2
    assert stage.consume("b", 2).result() == ("b", 2, 5000, None)
    back = stage.consume("a2", instance_id="i").result()
    assert (back.member_epoch, back.assignment) == (2, kept)
    assert stage.consume("b", 2).result() == ("b", 2, 5000, None)
    assert code_of(stage.consume("a", 2, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    stage.reload()
    assert stage.consume("a2", 2, instance_id="i").result().member_epoch == 2


def test_a_static_member_that_does_not_come_back_within_a_session_is_out(stage: Stage) -> None:
    stage.consume("a", instance_id="i")
    stage.consume("a", -2, instance_id="i")
    stage.wait(SESSION_MS)
    assert stage.state() == "Empty"


def test_an_instance_id_in_use_is_not_taken_over(stage: Stage) -> None:
    stage.consume("a", instance_id="i")
    assert code_of(stage.consume("b", instance_id="i")) is ErrorCode.UNRELEASED_INSTANCE_ID
    assert stage.consume("a", instance_id="i").result().member_epoch == 1


def test_a_static_member_that_leaves_for_good_is_gone(stage: Stage) -> None:
    stage.consume("a", instance_id="i")
    stage.consume("a", -1, instance_id="i")
    assert stage.state() == "Empty"
    assert code_of(stage.consume("a", 1, instance_id="i")) is ErrorCode.UNKNOWN_MEMBER_ID


# Offsets


@pytest.mark.parametrize(
    ("member", "epoch", "version", "code"),
    [
        ("a", 1, 9, ErrorCode.NONE),
        ("a", 0, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 2, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 1, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("stranger", 1, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, 9, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_only_a_member_of_the_present_epoch_commits(
    stage: Stage, member: str, epoch: int, version: int, code: ErrorCode
) -> None:
    stage.consume("a")
    assert stage.commit(7, member, epoch, version=version) is code
    assert stage.committed() == (7 if code is ErrorCode.NONE else None)


def test_a_fetch_with_a_stale_epoch_is_refused(stage: Stage) -> None:
    stage.consume("a")
    with pytest.raises(KafkaError) as error:
        stage.groups.fetch(GROUP, None, member_id="a", member_epoch=9).result()
    assert error.value.code is ErrorCode.STALE_MEMBER_EPOCH
    assert stage.groups.fetch(GROUP, None, member_id="a", member_epoch=1).result() == {}


def test_an_empty_group_takes_commits_of_nobodys_member_and_keeps_offsets_from_its_last_day_on(
    stage: Stage,
) -> None:
    day_ms = 24 * 3600 * 1000
    stage.consume("a")
    stage.commit(7, "a", 1)
    for _ in range(10 * day_ms // 40_000):
        stage.wait(40_000)
        stage.consume("a", 1)
    stage.consume("a", -1)
    stage.wait(6 * day_ms)
    assert stage.committed() == 7
    stage.wait(day_ms + 600_000)
    assert stage.state() is None
    stage.log.compact(drop_tombstones=True)
    assert stage.log.is_empty


# Restarts


def test_a_group_goes_on_after_a_restart_and_compaction(stage: Stage) -> None:
    _two(stage)
    for compacts in (False, True):
        if compacts:
            stage.log.compact()
        stage.reload()
        assert stage.consume("a", 2).result() == ("a", 2, 5000, None)
        assert stage.consume("b", 2).result() == ("b", 2, 5000, None)
    stage.wait(SESSION_MS - 1)
    stage.reload()
    stage.wait(SESSION_MS - 1)
    assert stage.state() == "Stable"
    stage.wait(1)
    assert stage.state() == "Empty"


def test_a_member_that_had_to_give_up_still_has_to_after_a_restart(stage: Stage) -> None:
    stage.consume("a")
    stage.consume("b")
    kept = stage.consume("a", 1).result().assignment
    stage.reload()
    assert stage.consume("b", 2).result().assignment is None
    stage.wait(REBALANCE_MS // 2)
    stage.consume("b", 2)
    assert stage.consume("a", 1, owned=kept).result().member_epoch == 2
    assert stage.consume("b", 2).result().assignment is not None


def test_a_heartbeat_that_cannot_be_written_changes_nothing(stage: Stage) -> None:
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert code_of(stage.consume("a")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.log.refusal = None
    assert stage.state() is None
    assert stage.consume("a").result().member_epoch == 1


def test_an_empty_group_is_deleted_with_everything(stage: Stage) -> None:
    stage.consume("a", regex="t.*")
    with pytest.raises(KafkaError) as error:
        stage.groups.delete_group(GROUP).result()
    assert error.value.code is ErrorCode.NON_EMPTY_GROUP
    stage.consume("a", -1)
    stage.groups.delete_group(GROUP).result()
    assert stage.state() is None
    stage.log.compact(drop_tombstones=True)
    assert stage.log.is_empty
