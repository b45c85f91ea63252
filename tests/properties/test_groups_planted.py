"""The machines of `test_groups` notice what a coordinator of groups must not get wrong."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from penstock.groups.classic_group import ClassicGroup
from penstock.groups.consumer_group import Member
from penstock.groups.messages import CommitIdentity
from penstock.groups.migration import Migration
from tests.properties.test_groups import ClassicGroups, ConsumerGroups, MixedGroups

LOOK = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def is_noticed(machine: type[RuleBasedStateMachine]) -> bool:
    try:
        run_state_machine_as_test(machine, settings=LOOK)
    except AssertionError:
        return True
    return False


def test_a_commit_of_an_older_generation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(group: ClassicGroup, identity: CommitIdentity, *, transactional: bool) -> None:
        group.check_member(identity.member_id, identity.instance_id)

    monkeypatch.setattr(ClassicGroup, "check_commit", check)
    assert is_noticed(ClassicGroups)


def test_a_commit_of_an_older_epoch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Member, "check_epoch", lambda member, epoch: None)
    assert is_noticed(ConsumerGroups)


def test_an_upgrade_that_forgets_who_has_what_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Migration, "by_id", lambda migration, partitions: {})
    assert is_noticed(MixedGroups)
