"""Decisions, against an oracle that was written apart from the authorizer and knows no index."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.security.acls import Acl, AclFilter, Acls, PatternType, Permission
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import THIS_NODE, Principal, parse_principal, user
from penstock.security.standard_authorizer import StandardAuthorizer
from tests.security.acl_strategies import Question, acls, questions

TOPIC = ResourceType.TOPIC
ALICE = user("alice")


def allow(operation: Operation = Operation.READ, name: str = "t", **changes: object) -> Acl:
    acl = Acl(TOPIC, PatternType.LITERAL, name, "User:alice", "*", operation, Permission.ALLOW)
    return acl._replace(**changes)  # type: ignore[arg-type]


def authorizer(*entries: Acl, super_users: tuple[str, ...] = (), is_open: bool = False) -> StandardAuthorizer:
    by_id = {number.to_bytes(16, "big"): acl for number, acl in enumerate(entries)}
    return StandardAuthorizer(lambda: by_id, super_users, allow_if_no_acl=is_open)


def ask(machine: StandardAuthorizer, question: Question) -> bool:
    return machine.authorize(parse_principal(question.principal), *question[1:])


def oracle(entries: list[Acl], question: Question, super_users: tuple[str, ...], is_open: bool) -> bool:
    """Kafka's rules in their words: look at every entry, one by one."""
    if question.principal in super_users:
        return True
    is_about = [
        acl
        for acl in entries
        if acl.resource == question.resource
        and (
            (acl.pattern == PatternType.LITERAL and acl.name in (question.name, "*"))
            or (acl.pattern == PatternType.PREFIXED and question.name.startswith(acl.name))
        )
    ]
    if not is_about:
        return is_open
    mine = [
        acl
        for acl in is_about
        if acl.principal in (question.principal, "User:*") and acl.host in ("*", question.host)
    ]
    for acl in mine:
        if acl.permission == Permission.DENY and acl.operation in (Operation.ALL, question.operation):
            return False
    wanted = {Operation.ALL, question.operation}
    if question.operation == Operation.DESCRIBE:
        wanted |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    if question.operation == Operation.DESCRIBE_CONFIGS:
        wanted |= {Operation.ALTER_CONFIGS}
    return any(acl.permission == Permission.ALLOW and acl.operation in wanted for acl in mine)


@given(st.lists(acls, max_size=12), st.lists(questions, min_size=1, max_size=40), st.booleans())
def test_every_decision_is_the_oracles(entries: list[Acl], asked: list[Question], is_open: bool) -> None:
    machine = authorizer(*entries, super_users=("User:admin",), is_open=is_open)
    for question in asked:
        assert ask(machine, question) == oracle(entries, question, ("User:admin",), is_open)


@given(st.lists(st.lists(acls, max_size=6), max_size=5), st.lists(questions, min_size=1, max_size=10))
def test_an_index_that_followed_changes_is_the_index_of_the_last_state(
    states: list[list[Acl]], asked: list[Question]
) -> None:
    followed = Acls()
    by_id: dict[bytes, Acl] = {}
    for state in states:
        by_id = {repr(acl).encode(): acl for acl in state}
        followed = followed.changed_to(by_id)
    fresh = Acls().changed_to(by_id)
    for question in asked:
        found = [sorted(map(str, one)) for one in followed.on(question.resource, question.name)]
        assert found == [sorted(map(str, one)) for one in fresh.on(question.resource, question.name)]
    assert len(followed) == len(by_id)


def oracle_any(entries: list[Acl], question: Question) -> bool:
    """Whether some name can be found that is allowed: tried with every name that could matter."""
    names = {acl.name + end for acl in entries for end in ("", "\x00")} | {"\x00"}
    names.discard("*")
    same = [acl for acl in entries if acl.operation in (Operation.ALL, question.operation)]
    return any(oracle(same, question._replace(name=name), (), False) for name in names)


@given(st.lists(acls, max_size=8), questions)
def test_a_right_on_any_topic_is_one_that_some_topic_gives(entries: list[Acl], question: Question) -> None:
    machine = authorizer(*entries)
    principal = parse_principal(question.principal)
    found = machine.authorize_any(principal, question.host, question.operation, question.resource)
    if oracle_any(entries, question):
        assert found  # Kafka's rule is generous where a prefix is denied in part, and never too strict


def test_a_denial_beats_a_permission_and_implies_nothing() -> None:
    machine = authorizer(allow(Operation.ALL), allow(permission=Permission.DENY))
    assert not machine.authorize(ALICE, "h", Operation.READ, TOPIC, "t")
    assert machine.authorize(ALICE, "h", Operation.DESCRIBE, TOPIC, "t")


def test_super_users_and_the_node_itself_pass_everything() -> None:
    machine = authorizer(allow(Operation.ALL, permission=Permission.DENY), super_users=("User:alice",))
    assert machine.authorize(ALICE, "h", Operation.READ, TOPIC, "t")
    assert machine.authorize(THIS_NODE, "h", Operation.READ, TOPIC, "t")
    assert not machine.authorize(Principal(*THIS_NODE), "h", Operation.READ, TOPIC, "t")


def test_denials_are_written_down_and_permissions_only_when_one_looks_closely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = authorizer(allow())
    with caplog.at_level(logging.INFO, "kafka.authorizer.logger"):
        machine.authorize(ALICE, "10.0.0.1", Operation.WRITE, TOPIC, "t", "INIT_PRODUCER_ID")
        machine.authorize(ALICE, "10.0.0.1", Operation.READ, TOPIC, "t", "FETCH")
        machine.authorize(ALICE, "10.0.0.1", Operation.WRITE, TOPIC, "t")
    assert caplog.messages == [
        "Principal = User:alice is Denied operation = WRITE from host = 10.0.0.1 on resource = "
        "Topic:LITERAL:t for request = InitProducerId with resourceRefCount = 1 based on rule DefaultDeny"
    ]
    with caplog.at_level(logging.DEBUG, "kafka.authorizer.logger"):
        machine.authorize(ALICE, "10.0.0.1", Operation.READ, TOPIC, "t", "FETCH")
    assert caplog.messages[-1].endswith(
        "based on rule MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=t, patternType=LITERAL, "
        "principal=User:alice, host=*, operation=READ, permissionType=ALLOW))"
    )


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        (PatternType.ANY, None, "abc"),
        (PatternType.LITERAL, "ab", "a"),
        (PatternType.PREFIXED, "ab", "b"),
        (PatternType.ANY, "ab", "ab"),
        (PatternType.MATCH, "abz", "bc"),
        (PatternType.MATCH, "ab", "abc"),
        (PatternType.MATCH, "x", "c"),
    ],
)
def test_filters_match_as_kafkas_do(pattern: PatternType, name: str | None, found: str) -> None:
    entries = {
        "a": allow(name="ab"),
        "b": allow(name="ab", pattern=PatternType.PREFIXED),
        "c": allow(name="*"),
    }
    wanted = AclFilter(TOPIC, pattern, name, None, None, Operation.ANY, Permission.ANY)
    assert "".join(key for key, acl in entries.items() if wanted.matches(acl)) == found
