"""`penstock acl`: rights are granted, taken back, listed and explained."""

from __future__ import annotations

import json

import pytest

from penstock.client.acl_checking import Question, Rules, decide
from penstock.client.acls import Acl
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import user
from tests.cli.commands import CommandLine


def test_rights_are_granted_listed_and_revoked(as_super_user: CommandLine) -> None:
    cli = as_super_user
    granted = cli("acl", "grant", "ivy", "read", "describe-configs", "--topic", "orders")
    assert granted.out.splitlines() == [
        "User:ivy\tallow\tread\ttopic\torders\tliteral\t*",
        "User:ivy\tallow\tdescribe_configs\ttopic\torders\tliteral\t*",
    ]
    cli("acl", "grant", "ivy", "--producer", "--consumer", "--topic", "in-", "--group", "in-", "--prefix")
    cli("acl", "grant", "ivy", "all", "--topic", "secret", "--deny", "--host", "10.0.0.9")
    listed = [
        json.loads(line) for line in cli("acl", "list", "--principal", "ivy", "--json").out.splitlines()
    ]
    prefixed = {each["operation"] for each in listed if each["resource_name"] == "in-"}
    assert prefixed == {"WRITE", "DESCRIBE", "CREATE", "READ"}
    matching = cli("acl", "list", "--topic", "in-going", "--matching").out
    assert "User:ivy\tallow\twrite\ttopic\tin-\tprefixed\t*" in matching.splitlines()
    revoked = cli("acl", "revoke", "ivy", "read", "--topic", "orders")
    assert revoked.out.splitlines() == ["User:ivy\tallow\tread\ttopic\torders\tliteral\t*"]
    for words in (
        ("--topic", "orders"),
        ("--topic", "secret"),
        ("--topic", "in-", "--group", "in-", "--prefix"),
    ):
        assert cli("acl", "revoke", "ivy", *words).code == 0
    assert cli("acl", "list", "--principal", "ivy").out == ""
    assert cli("acl", "revoke", "ivy", "--topic", "orders").code == 1


def test_a_decision_is_explained(as_super_user: CommandLine) -> None:
    cli = as_super_user
    nothing = cli("acl", "check", "dan", "read", "--topic", "explained")
    assert nothing.code == 1
    assert nothing.out.splitlines() == [
        "denied: User:dan read topic explained from 127.0.0.1",
        "No entry names topic 'explained', and what no entry names is closed.",
    ]
    cli("acl", "grant", "dan", "write", "--topic", "expl", "--prefix")
    allowed = cli("acl", "check", "User:dan", "describe", "--topic", "explained")
    assert allowed.code == 0
    assert "User:dan\tallow\twrite\ttopic\texpl\tprefixed\t*" in allowed.out.splitlines()
    assert "2 entries" not in cli("acl", "check", "dan", "read", "--topic", "explained").out
    cli("acl", "grant", "*", "write", "--topic", "explained", "--deny")
    denied = cli("acl", "check", "dan", "write", "--topic", "explained", "--json")
    assert denied.code == 1
    assert json.loads(denied.out)["entry"]["permission"] == "DENY"
    best = cli("acl", "check", "alice", "write", "--topic", "explained")
    assert best.code == 0
    assert "User:alice is one of super.users." in best.out


@pytest.mark.parametrize(
    ("rules", "allowed", "why"),
    [
        (Rules(True, frozenset({"User:a"}), False), True, "one of super.users"),
        (Rules(True, frozenset(), True), True, "allow.everyone.if.no.acl.found is true"),
        (Rules(True, frozenset(), False), False, "No entry names topic 't'"),
        (Rules(True, None, None), False, "the broker does not show"),
    ],
)
def test_rules_beside_the_entries_are_named(rules: Rules, allowed: bool, why: str) -> None:
    question = Question(user("a"), "127.0.0.1", Operation.READ, ResourceType.TOPIC, "t")
    verdict = decide([], rules, question)
    assert verdict.allowed is allowed
    assert why in verdict.why


def test_entries_of_others_are_counted() -> None:
    other = Acl("TOPIC", "t", "LITERAL", "User:b", "*", "READ", "ALLOW")
    question = Question(user("a"), "127.0.0.1", Operation.READ, ResourceType.TOPIC, "t")
    verdict = decide([other], Rules(True, frozenset(), False), question)
    assert verdict.why == (
        "1 entries name topic 't', none of them for User:a, and none allows READ from 127.0.0.1."
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("grant", "a", "read"), "Name a resource"),
        (("grant", "a", "--topic", "t"), "Say what is granted"),
        (("grant", "a", "fly", "--topic", "t"), "'fly' is no operation of a topic. Use one of read, write"),
        (("grant", "a", "--consumer", "--cluster"), "Nothing would be granted on the cluster"),
        (("check", "a", "read"), "Name a resource"),
        (("check", "a", "read", "--topic", "t", "--group", "g"), "Name one resource"),
    ],
)
def test_what_makes_no_sense_is_said(as_super_user: CommandLine, words: tuple[str, ...], why: str) -> None:
    said = as_super_user("acl", *words)
    assert said.code == 2
    assert why in said.err
