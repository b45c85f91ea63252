"""`kafka-acls` and `kafka-delegation-tokens` beside Kafka's own."""

from __future__ import annotations

import re

import pytest

from penstock.cli.kafka.acls import acls
from penstock.cli.kafka.delegation_tokens import delegation_tokens
from tests.cli.guarded import Guarded
from tests.cli.kafka.side_by_side import SideBySide, without
from tests.peers.java_programs import JavaPrograms
from tests.security.properties import SECRET

KAFKAS = "org.apache.kafka.tools.AclCommand"
KAFKAS_TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
TO = "--bootstrap-server SERVERS"


@pytest.fixture
def beside(
    guarded: Guarded,
    java_programs: JavaPrograms,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> SideBySide:
    return SideBySide(guarded.servers, java_programs, capsys, monkeypatch)


def in_order(text: str) -> list[str]:
    """Kafka prints entries and resources in the order of hash tables; the first line of entries has a blank
    more."""
    return sorted(line.strip() for line in text.splitlines())


def test_entries_are_added_listed_and_removed_as_kafka_does(beside: SideBySide) -> None:
    """Kafka's command adds what ours adds, under another name of the topic."""
    lines = [
        "--add --allow-principal User:bob --producer --topic NAME",
        "--add --allow-principal User:bob --producer --topic NAME --transactional-id NAME --idempotent",
        "--add --allow-principal User:bob --allow-principal User:eve --consumer --topic NAME --group NAME",
        "--add --allow-principal User:* --allow-host 10.0.0.1 --allow-host 10.0.0.2 --operation Read "
        "--operation describeconfigs --topic NAME --resource-pattern-type prefixed",
        "--add --deny-principal User:bob --deny-host * --operation Write --topic NAME --topic NAME-2",
        "--add --allow-principal User:ann --cluster",
        "--add --allow-principal User:ann --operation CreateTokens --user-principal User:bob",
        "--add --allow-principal User:ann --operation Describe --delegation-token NAME",
        "--list --topic NAME",
        "--list --topic NAME --principal User:bob --principal User:eve",
        "--list --topic NAME --resource-pattern-type match",
        "--list --topic NAME --resource-pattern-type any",
        "--remove --allow-principal User:bob --operation Write --topic NAME --force",
        "--list --topic NAME",
        "--remove --topic NAME --resource-pattern-type any --force",
        "--list --topic NAME --resource-pattern-type any",
        "--list --topic nothing-of-the-name",
    ]
    for line in lines:
        ours = beside.ours(acls, *f"{TO} {line.replace('NAME', 'made-here')}".split())
        theirs = beside.kafkas(KAFKAS, *f"{TO} {line.replace('NAME', 'made-there')}".split())
        assert ours.code == theirs.code == 0, (line, ours, theirs)
        found = ours.out.replace("made-here", "made-there")
        if (
            "User:ann --cluster" in line
            or "User:ann --operation CreateTokens" in line
            or "--idempotent" in line
        ):
            assert "already exists" in theirs.out
            continue
        assert in_order(found) == in_order(theirs.out), line
    ours, theirs = beside.both(acls, KAFKAS, f"{TO} --list")
    assert in_order(ours.out) == in_order(theirs.out)


def test_an_entry_that_is_there_is_not_added_again(beside: SideBySide) -> None:
    line = f"{TO} --add --allow-principal User:twice --operation Alter --topic twice"
    assert beside.ours(acls, *line.split()).code == 0
    ours, theirs = beside.both(acls, KAFKAS, line)
    assert (ours.code, ours.out) == (theirs.code, theirs.out)
    assert ours.out.startswith("Acl (pattern=ResourcePattern(resourceType=TOPIC, name=twice")


def test_removing_asks_first(beside: SideBySide) -> None:
    line = f"{TO} --add --allow-principal User:asked --operation Alter --topic asked"
    assert beside.ours(acls, *line.split()).code == 0
    remove, shown = f"{TO} --remove --topic asked".split(), f"{TO} --list --topic asked".split()
    assert "Are you sure you want to delete all ACLs" in beside.ours(acls, *remove, stdin=b"n\n").out
    assert "User:asked" in beside.ours(acls, *shown).out
    assert beside.ours(acls, *remove, stdin=b"y\n").code == 0
    assert "User:asked" not in beside.ours(acls, *shown).out


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list",
        f"{TO}",
        f"{TO} --list --add",
        f"{TO} --list --producer",
        f"{TO} --add --allow-principal User:a",
        f"{TO} --add --topic a",
        f"{TO} --add --producer --allow-principal User:a",
        f"{TO} --add --producer --topic a --operation Read --allow-principal User:a",
        f"{TO} --add --consumer --topic a --allow-principal User:a",
        f"{TO} --add --idempotent --topic a --allow-principal User:a",
        f"{TO} --add --topic a --allow-principal User:a --resource-pattern-type match",
        f"{TO} --add --topic a --principal User:a",
        f"{TO} --add --topic a --allow-principal User:a --nonsense",
        f"{TO} --bootstrap-controller SERVERS --list",
    ],
)
def test_what_makes_no_sense_is_refused_as_kafka_does(beside: SideBySide, line: str) -> None:
    ours, theirs = beside.both(acls, KAFKAS, line)
    assert (ours.code, ours.complaint) == (theirs.code, theirs.complaint)


@pytest.mark.parametrize(
    "line",
    [
        f"{TO} --add --topic a --allow-principal User:a --operation ClusterAction",
        f"{TO} --add --topic a --allow-principal User:a --operation Nonsense",
        f"{TO} --add --group a --allow-principal User:a --operation Describe_Configs",
    ],
)
def test_operations_that_a_resource_does_not_have_are_refused(beside: SideBySide, line: str) -> None:
    ours, theirs = beside.both(acls, KAFKAS, line)
    assert (ours.code, ours.words_of_complaint) == (theirs.code, theirs.words_of_complaint)


def test_errors_of_the_broker_are_kafkas(side: SideBySide) -> None:
    """`side` has a broker without an authorizer."""
    for line in (f"{TO} --list", f"{TO} --add --topic a --allow-principal nobody"):
        ours, theirs = side.both(acls, KAFKAS, line)
        assert ours.code == theirs.code == 1
        assert ours.out.splitlines()[0] == theirs.out.splitlines()[0]


def test_tokens_are_made_described_renewed_and_ended_as_kafka_does(
    guarded: Guarded, beside: SideBySide
) -> None:
    to = f"--bootstrap-server {guarded.sasl} {' '.join(guarded.alice())}"
    made = f"{to} --create --max-life-time-period 600000 --renewer-principal User:bob"
    ours, theirs = beside.both(delegation_tokens, KAFKAS_TOKENS, made)
    found = [re.search(r"tokenId : (\S+)[\s\S]*\1 +(\S+)", said.out) for said in (ours, theirs)]
    (our_id, our_hmac), (their_id, their_hmac) = ((each[1], each[2]) for each in found if each)
    shape = (r"[A-Za-z0-9+/]{86}==", r"\S{22}(?= )", r"(?<=: )\S{22}", r"\d{4}-\d\d-\d\dT\d\d:\d\d")
    assert without(ours.out, *shape) == without(theirs.out, *shape)
    said = beside.ours(delegation_tokens, *f"{to} --describe".split())
    assert our_id in said.out  # Kafka's help promises the same; its command asks for the tokens of nobody
    owner = "--owner-principal User:alice"
    ours, theirs = beside.both(delegation_tokens, KAFKAS_TOKENS, f"{to} --describe {owner}")
    assert ours.code == theirs.code == 0
    assert sorted(ours.out.splitlines()) == sorted(theirs.out.splitlines())
    assert our_id in theirs.out
    assert their_id in ours.out
    ours = beside.ours(delegation_tokens, *f"{to} --describe --owner-principal User:nobody".split())
    assert "Total number of tokens : 0" in ours.out
    for line in (
        f"{to} --renew --renew-time-period -1 --hmac",
        f"{to} --expire --expiry-time-period -1 --hmac",
    ):
        ours = beside.ours(delegation_tokens, *f"{line} {our_hmac}".split())
        theirs = beside.kafkas(KAFKAS_TOKENS, *f"{line} {their_hmac}".split())
        assert ours.code == theirs.code == 0
        assert without(ours.out, r":[\w+/]{86}==", r"\d\d:\d\d$") == without(
            theirs.out, r":[\w+/]{86}==", r"\d\d:\d\d$"
        )
    again = f"{to} --renew --renew-time-period -1 --hmac {our_hmac}"
    ours, theirs = beside.both(delegation_tokens, KAFKAS_TOKENS, again)
    assert (ours.code, ours.complaint) == (theirs.code, theirs.complaint)


@pytest.mark.parametrize(
    "line",
    ["", "--create", f"{TO} --create --renew", f"{TO} --command-config x --create", f"{TO} --describe"],
)
def test_tokens_that_make_no_sense_are_refused_as_kafka_does(beside: SideBySide, line: str) -> None:
    ours, theirs = beside.both(delegation_tokens, KAFKAS_TOKENS, line)
    assert (ours.code, ours.complaint) == (theirs.code, theirs.complaint)


def test_no_password_is_said(guarded: Guarded, beside: SideBySide) -> None:
    words = ["--bootstrap-server", guarded.sasl, *guarded.alice(), "--describe"]
    said = beside.ours(delegation_tokens, *words)
    assert SECRET not in said.out + said.err
