"""Groups that change their protocol, and members of both protocols in one group."""

from __future__ import annotations

import pytest

from penstock.groups.embedded import decode_assignment, encode_assignment
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError
from tests.groups.stage import GROUP, REBALANCE_MS, SESSION_MS, Stage
from tests.groups.test_consumer import code_of


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.topics.make("t", 4)
    return stage


def _classic(stage: Stage, instance_id: str | None = None) -> str:
    """One classic consumer that has everything."""
    if instance_id is None:
        member_id, promise = stage.enter()
    else:
        promise = stage.join(instance_id=instance_id)
    stage.wait(6000)
    member_id = promise.result().member_id
    plan = {member_id: encode_assignment({"t": (0, 1, 2, 3)}, 1)}
    assert stage.sync(member_id, 1, plan, instance_id=instance_id).result().error is ErrorCode.NONE
    return member_id


def _type(stage: Stage) -> str:
    (listed,) = [group for promise in stage.groups.list_groups() for group in promise.result()]
    return listed.group_type


def _partitions(stage: Stage, member_id: str, generation: int) -> set[int]:
    """What a classic member hears when it syncs."""
    result = stage.sync(member_id, generation).result()
    assert result.error is ErrorCode.NONE, result
    return set(decode_assignment(result.assignment).get("t", ()))


def _catch_up(stage: Stage, member_id: str, epoch: int, owned: set[int]) -> tuple[int, set[int]]:
    """A cooperative classic member joins and syncs until it is left in peace."""
    for _ in range(5):
        joined = stage.join(member_id, owned={"t": sorted(owned)}).result()
        assert joined.error is ErrorCode.NONE, joined
        epoch, owned = joined.generation_id, _partitions(stage, member_id, joined.generation_id)
        if stage.beat(member_id, epoch) is ErrorCode.NONE:
            return epoch, owned
    raise AssertionError("it has to join again and again")


def test_an_empty_classic_group_is_taken_over_with_its_offsets(stage: Stage) -> None:
    member = _classic(stage)
    stage.commit(7, member, 1)
    stage.leave((member, None))
    assert stage.consume("new").result().assignment
    assert _type(stage) == "consumer"
    stage.reload()
    assert (_type(stage), stage.committed()) == ("consumer", 7)


def test_an_empty_consumer_group_is_taken_over_with_its_offsets(stage: Stage) -> None:
    stage.consume("new")
    stage.commit(7, "new", 1)
    stage.consume("new", -1)
    member = _classic(stage)
    assert _type(stage) == "classic"
    stage.log.compact()
    stage.reload()
    assert (_type(stage), stage.committed()) == ("classic", 7)
    assert stage.beat(member, 1) is ErrorCode.NONE


def test_a_group_is_upgraded_member_by_member_and_no_partition_has_two_owners(stage: Stage) -> None:
    old = _classic(stage)
    joined = stage.consume("new").result()
    assert (joined.member_epoch, joined.assignment) == (2, {})
    assert _type(stage) == "consumer"
    assert stage.beat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    epoch, kept = _catch_up(stage, old, 1, {0, 1, 2, 3})
    assert (epoch, len(kept)) == (2, 2)
    given = stage.consume("new", 2).result().assignment
    assert given is not None
    assert set(next(iter(given.values()))) == {0, 1, 2, 3} - kept
    assert stage.state() == "Stable"
    described = stage.groups.describe_consumer(GROUP).result()
    assert {member.member_id: member.is_classic for member in described.members} == {old: True, "new": False}
    stage.leave((old, None))
    everything = stage.consume("new", 2).result().assignment
    assert everything is not None
    assert set(next(iter(everything.values()))) == {0, 1, 2, 3}


def test_a_group_is_downgraded_when_the_last_member_of_the_consumer_protocol_leaves(stage: Stage) -> None:
    old = _classic(stage)
    stage.consume("new")
    epoch, _ = _catch_up(stage, old, 1, {0, 1, 2, 3})
    stage.consume("new", -1)
    assert (_type(stage), stage.state()) == ("classic", "PreparingRebalance")
    assert stage.beat(old, epoch) is ErrorCode.REBALANCE_IN_PROGRESS
    again = stage.join(old).result()
    assert (again.generation_id, again.leader, len(again.members)) == (epoch + 1, old, 1)
    stage.log.compact()
    stage.reload()
    assert _type(stage) == "classic"
    assert code_of(stage.consume("new", 2)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_downgraded_when_the_last_member_of_the_consumer_protocol_dies(stage: Stage) -> None:
    old = _classic(stage)
    stage.consume("new")
    epoch, _ = _catch_up(stage, old, 1, {0, 1, 2, 3})
    for _ in range(6):
        stage.wait(SESSION_MS - 1000)
        if stage.beat(old, epoch) is not ErrorCode.NONE:
            break
    assert _type(stage) == "classic"


def test_a_restart_in_the_middle_of_a_migration_loses_nothing(stage: Stage) -> None:
    old = _classic(stage)
    stage.consume("new")
    stage.log.compact()
    stage.reload()
    epoch, kept = _catch_up(stage, old, 1, {0, 1, 2, 3})
    stage.reload()
    assert _partitions(stage, old, epoch) == kept
    assert stage.consume("new", 2).result().assignment
    assert stage.state() == "Stable"


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_an_upgrade_that_is_not_allowed_is_refused_and_the_group_goes_on(policy: str) -> None:
    stage = Stage(GroupSettings(migration_policy=policy))
    stage.topics.make("t", 4)
    old = _classic(stage)
    assert code_of(stage.consume("new")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.beat(old, 1) is ErrorCode.NONE


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_without_downgrades_a_group_of_classic_members_stays_what_it_is(policy: str) -> None:
    stage = Stage(GroupSettings(migration_policy=policy))
    stage.topics.make("t", 4)
    stage.consume("new")
    id_ = stage.join().result()
    assert id_.error is ErrorCode.MEMBER_ID_REQUIRED
    assert stage.join(id_.member_id).result().error is ErrorCode.NONE
    stage.consume("new", -1)
    assert _type(stage) == "consumer"
    epoch, owned = _catch_up(stage, id_.member_id, 2, set())
    assert owned == {0, 1, 2, 3}
    assert stage.commit(5, id_.member_id, epoch) is ErrorCode.NONE
    assert stage.commit(6, id_.member_id, epoch - 1) is ErrorCode.ILLEGAL_GENERATION


def test_a_group_of_another_kind_than_consumers_is_not_upgraded(stage: Stage) -> None:
    stage.stable(1, protocol_type="connect")
    assert code_of(stage.consume("new")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.state() == "Stable"


def test_who_waits_in_a_classic_rebalance_is_sent_to_join_again(stage: Stage) -> None:
    _, waiting = stage.enter()
    stage.consume("new")
    assert waiting.result().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_changes_its_protocol_and_keeps_its_place(stage: Stage) -> None:
    old = _classic(stage, "i")
    joined = stage.consume("new", instance_id="i").result()
    assert joined.assignment is not None
    assert set(next(iter(joined.assignment.values()))) == {0, 1, 2, 3}
    assert stage.beat(old, 1, instance_id="i") is ErrorCode.FENCED_INSTANCE_ID
    back = stage.join(instance_id="i").result()
    assert back.error is ErrorCode.NONE
    assert _type(stage) == "classic"
    assert stage.beat(back.member_id, back.generation_id, instance_id="i") is ErrorCode.NONE
    synced = stage.sync(back.member_id, back.generation_id, instance_id="i").result()
    assert set(decode_assignment(synced.assignment)["t"]) == {0, 1, 2, 3}


def test_a_classic_member_of_a_consumer_group_has_timers_for_joining_and_syncing(stage: Stage) -> None:
    old = _classic(stage)
    stage.consume("new")
    assert stage.beat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(REBALANCE_MS // 5000):
        stage.wait(5000)
        stage.beat(old, 1)
        stage.consume("new", 2)
    assert stage.beat(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    given = stage.consume("new", 3).result().member_epoch
    assert given == 3


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        ("new", 2, ErrorCode.UNKNOWN_MEMBER_ID),
        ("stranger", 2, ErrorCode.UNKNOWN_MEMBER_ID),
        ("old", 7, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_a_classic_request_of_the_wrong_one_is_refused(
    stage: Stage, member: str, generation: int, code: ErrorCode
) -> None:
    old = _classic(stage)
    stage.consume("new")
    member_id = old if member == "old" else member
    assert stage.beat(member_id, generation) is code
    assert stage.sync(member_id, generation).result().error is code
    if member != "old":
        assert stage.leave((member_id, None))[0].error is code


def test_protocols_that_are_not_those_of_consumers_cannot_join_a_consumer_group(stage: Stage) -> None:
    stage.consume("new")
    refused = stage.join(protocol_type="connect").result()
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    malformed = stage.join(protocols={"range": b"\x00"}).result()
    assert malformed.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_upgrade_that_cannot_be_written_leaves_the_classic_group_alone(stage: Stage) -> None:
    old = _classic(stage)
    stage.log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert code_of(stage.consume("new")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.log.refusal = None
    assert (_type(stage), stage.beat(old, 1)) == ("classic", ErrorCode.NONE)
