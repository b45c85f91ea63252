"""S3: decisions beside Apache Kafka's own StandardAuthorizer, over the same random entries and requests."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from penstock.security.acls import Acl, PatternType, Permission
from penstock.security.operations import Operation
from penstock.security.principals import parse_principal
from penstock.security.standard_authorizer import StandardAuthorizer
from tests.peers.java_programs import JavaPrograms
from tests.security.acl_strategies import HOSTS, NAMES, PRINCIPALS, REAL, TYPES, Question

SHORT_SETS, LONG_SETS = 300, 5_000
QUESTIONS = 20


def random_acl(random: Random) -> Acl:
    return Acl(
        random.choice(TYPES),
        random.choice([PatternType.LITERAL, PatternType.PREFIXED]),
        random.choice(NAMES),
        random.choice(PRINCIPALS),
        random.choice(HOSTS),
        random.choice([Operation.ALL, *REAL]),
        random.choice([Permission.DENY, Permission.ALLOW, Permission.ALLOW]),
    )


def random_question(random: Random) -> Question:
    names = [name for name in NAMES if name != "*"]
    users = ["User:alice", "User:bob", "User:carol", "Group:alice", "User:admin"]
    return Question(
        random.choice(users),
        random.choice(HOSTS[1:]),
        random.choice(REAL),
        random.choice(TYPES),
        random.choice(names),
    )


@pytest.mark.claim("S3")
def test_kafkas_own_authorizer_decides_the_same(
    java_programs: JavaPrograms, tmp_path: Path, long_form: bool, seed: int
) -> None:
    random = Random(seed)
    lines: list[str] = []
    expected: list[str] = []
    for _ in range(LONG_SETS if long_form else SHORT_SETS):
        acls = list(dict.fromkeys(random_acl(random) for _ in range(random.choice([0, 1, 3, 10, 30]))))
        is_open = random.random() < 0.3
        by_id = {number.to_bytes(16, "big"): acl for number, acl in enumerate(acls)}
        ours = StandardAuthorizer(lambda same=by_id: same, ("User:admin",), allow_if_no_acl=is_open)  # type: ignore[misc]
        lines.append(f"S\t{str(is_open).lower()}")
        lines += ["\t".join(["A", *(str(int(v)) if isinstance(v, int) else v for v in acl)]) for acl in acls]
        for question in (random_question(random) for _ in range(QUESTIONS)):
            words = (str(int(v)) if isinstance(v, int) else v for v in question)
            lines.append("\t".join(["Q", *words]))
            principal = parse_principal(question.principal)
            named = ours.authorize(principal, *question[1:])
            any_ = ours.authorize_any(principal, question.host, question.operation, question.resource)
            expected.append(f"{named:d}{any_:d}")
    asked = tmp_path / "questions"
    asked.write_text("\n".join(lines))
    found = java_programs.run("AclDecisions", str(asked)).split()
    questions = [line for line in lines if line.startswith("Q")]
    different = [
        (line, kafka, own)
        for line, kafka, own in zip(questions, found, expected, strict=True)
        if kafka != own
    ]
    assert different == []
