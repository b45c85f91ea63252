"""Passwords for SCRAM on one node: set, described, deleted, kept."""

from __future__ import annotations

from typing import Any

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.principals import user
from penstock.security.scram import SHA_256, credential_of_password, salted_password
from tests.handlers.one_node import OneNode
from tests.handlers.test_acls import Guarded


def upsert(name: str, mechanism: int = 1, iterations: int = 4096, **changes: Any) -> dict[str, Any]:
    salted = salted_password(SHA_256, "secret", b"salt", iterations)
    row = {"name": name, "mechanism": mechanism, "iterations": iterations, "salt": b"salt"}
    return {**row, "salted_password": salted, **changes}


def alter(node: OneNode, *upsertions: dict[str, Any], deletions: Any = ()) -> dict[str, int]:
    answer = node.ask(Api.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=deletions, upsertions=upsertions)
    return {one.user: int(one.error_code) for one in answer.results}


def describe(node: OneNode, *names: str) -> dict[str, Any]:
    users = [{"name": name} for name in names] or None
    answer = node.ask(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=users)
    assert answer.error_code == 0
    return {
        one.user: [(info.mechanism, info.iterations) for info in one.credential_infos] or int(one.error_code)
        for one in answer.results
    }


def test_passwords_are_set_changed_deleted_and_survive_a_restart() -> None:
    node = OneNode()
    assert alter(node, upsert("alice"), upsert("alice", 2, 8192), upsert("bob")) == {"alice": 0, "bob": 0}
    node.broker.controller.write_snapshot()
    assert alter(node, deletions=[{"name": "bob", "mechanism": 1}]) == {"bob": 0}
    node.restart(killed=True)
    assert describe(node) == {"alice": [(1, 4096), (2, 8192)]}
    kept = node.broker.controller.image.passwords["alice", 1]
    expected = credential_of_password(SHA_256, "secret", b"salt", 4096)
    assert (kept.stored_key, kept.server_key) == (expected.stored_key, expected.server_key)
    assert "secret" not in repr(kept)


def test_a_user_with_a_mistake_keeps_everything_and_the_others_are_served() -> None:
    node = OneNode()
    assert alter(
        node,
        upsert("few", iterations=100),
        upsert("many", iterations=100_000),
        upsert(""),
        upsert("unknown", 9),
        upsert("twice"),
        upsert("twice"),
        upsert("good"),
        deletions=[{"name": "absent", "mechanism": 1}],
    ) == {
        "absent": ErrorCode.RESOURCE_NOT_FOUND,
        "few": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "many": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "unknown": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
        "good": 0,
    }
    assert describe(node, "good", "absent", "good") == {
        "good": ErrorCode.DUPLICATE_RESOURCE,
        "absent": ErrorCode.RESOURCE_NOT_FOUND,
    }
    assert describe(node) == {"good": [(1, 4096)]}


def test_only_those_who_may_see_and_set_passwords() -> None:
    node = Guarded()
    alice = node.as_(user("alice"))
    assert alter(alice, upsert("alice")) == {"alice": ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    answer = alice.ask(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=None)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
