"""Delegation tokens on one node: made, renewed, ended, described, kept; and which clients may."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.controller.metadata_records import decode, encode
from penstock.controller.security_records import DelegationTokenRecord, RemoveDelegationTokenRecord
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.delegation_tokens import token_hmac
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import TokenPrincipal, user
from tests.handlers.one_node import OneNode
from tests.handlers.test_acls import Guarded

ALICE, BOB, ADMIN = user("alice"), user("bob"), user("admin")
DAY_MS = 86_400_000


def create(
    node: OneNode, *renewers: str, owner: str | None = None, version: int = 3, lifetime: int = -1
) -> Any:
    named = {"owner_principal_type": None if owner is None else "User", "owner_principal_name": owner}
    rows = [{"principal_type": "User", "principal_name": name} for name in renewers]
    fields = {"renewers": rows, "max_lifetime": lifetime, **(named if version >= 3 else {})}
    return node.ask(Api.CREATE_DELEGATION_TOKEN, version, **fields)


def renew(node: OneNode, hmac: bytes, period: int = -1) -> Any:
    return node.ask(Api.RENEW_DELEGATION_TOKEN, 2, hmac=hmac, renew_period=period)


def expire(node: OneNode, hmac: bytes, period: int = -1) -> Any:
    return node.ask(Api.EXPIRE_DELEGATION_TOKEN, 2, hmac=hmac, expiry_time_period=period)


def describe(node: OneNode, *owners: str, version: int = 3) -> list[str]:
    rows = [{"principal_type": "User", "principal_name": name} for name in owners] or None
    answer = node.ask(Api.DESCRIBE_DELEGATION_TOKEN, version, owners=rows)
    assert answer.error_code == 0
    return [token.token_id for token in answer.tokens]


def ms(moment: Any) -> int:
    return round(moment.timestamp() * 1000)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_token_is_made_and_described_in_every_version(version: int) -> None:
    node = Guarded().as_(ALICE)
    made = create(node, "carol", version=version)
    assert made.error_code == 0
    assert (made.principal_type, made.principal_name) == ("User", "alice")
    assert made.hmac == token_hmac("key", made.token_id)
    now = node.clock.now_ms()
    assert [ms(made.issue_timestamp), ms(made.expiry_timestamp), ms(made.max_timestamp)] == [
        now,
        now + DAY_MS,
        now + 7 * DAY_MS,
    ]
    (seen,) = node.ask(Api.DESCRIBE_DELEGATION_TOKEN, version, owners=None).tokens
    assert (seen.token_id, seen.hmac, seen.renewers[0].principal_name) == (made.token_id, made.hmac, "carol")


def test_a_token_survives_a_restart_and_a_snapshot() -> None:
    node = Guarded()
    first = create(node.as_(ALICE)).token_id
    node.broker.controller.write_snapshot()
    second = create(node.as_(ALICE)).token_id
    node.restart(killed=True)
    assert describe(node.as_(ALICE)) == [first, second]


def test_lifetimes_are_bounded_by_the_settings() -> None:
    node = Guarded().as_(ALICE)
    now = node.clock.now_ms()
    short = create(node, lifetime=1000)
    assert (ms(short.max_timestamp), ms(short.expiry_timestamp)) == (now + 1000, now + 1000)
    assert ms(create(node, lifetime=2**45).max_timestamp) == now + 7 * DAY_MS


def test_owner_and_renewers_renew_and_end_a_token_and_nobody_else() -> None:
    node = Guarded()
    made = create(node.as_(ALICE), "carol")
    node.clock.pass_ms(1000)
    now = node.clock.now_ms()
    for name in ("alice", "carol"):
        answer = renew(node.as_(user(name)), made.hmac, 5000)
        assert (answer.error_code, ms(answer.expiry_timestamp)) == (0, now + 5000)
    assert renew(node.as_(ADMIN), made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert expire(node.as_(BOB), made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert renew(node.as_(ALICE), b"wrong").error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert ms(expire(node.as_(ALICE), made.hmac, 10).expiry_timestamp) == now + 10
    node.clock.pass_ms(11)
    assert renew(node.as_(ALICE), made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert expire(node.as_(ALICE), made.hmac, 10).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert expire(node.as_(ALICE), made.hmac).error_code == 0
    assert expire(node.as_(ALICE), made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_a_token_for_another_user_needs_the_right_to_create_it() -> None:
    node = Guarded()
    refused = create(node.as_(BOB), owner="alice")
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert refused.hmac == b""
    node.allow(Operation.CREATE_TOKENS, ResourceType.USER, "User:alice", principal="User:bob")
    made = create(node.as_(BOB), owner="alice")
    assert (made.principal_name, made.token_requester_principal_name) == ("alice", "bob")
    assert describe(node.as_(ALICE)) == [made.token_id]


def test_a_token_of_another_user_is_seen_with_a_right_to_it_or_to_its_owner() -> None:
    node = Guarded()
    one, two = create(node.as_(ALICE)).token_id, create(node.as_(ALICE)).token_id
    other = create(node.as_(user("dave"))).token_id
    assert describe(node.as_(BOB)) == []
    node.allow(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, one, principal="User:bob")
    assert describe(node.as_(BOB)) == [one]
    node.allow(Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:alice", principal="User:bob")
    assert describe(node.as_(BOB)) == [one, two]
    assert describe(node.as_(ADMIN), "dave") == [other]
    assert node.ask(Api.DESCRIBE_DELEGATION_TOKEN, 3, owners=()).tokens == ()


def test_a_client_that_came_by_a_token_may_not_manage_tokens() -> None:
    node = Guarded()
    made = create(node.as_(ALICE))
    by_token = node.as_(TokenPrincipal("User", "alice"))
    codes = [create(by_token), renew(by_token, made.hmac), expire(by_token, made.hmac)]
    codes.append(by_token.ask(Api.DESCRIBE_DELEGATION_TOKEN, 3, owners=None))
    assert {one.error_code for one in codes} == {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}


@pytest.mark.parametrize(
    ("protocol", "principal", "allowed"),
    [
        ("PLAINTEXT", ALICE, False),
        ("SSL", user("ANONYMOUS"), False),
        ("SSL", ALICE, True),
        ("SASL_SSL", ALICE, True),
    ],
)
def test_only_a_client_that_has_proved_itself_may_manage_tokens(
    protocol: str, principal: Any, allowed: bool
) -> None:
    node = OneNode(
        {"listener.security.protocol.map": f"PLAINTEXT:{protocol}", "delegation.token.secret.key": "key"}
    )
    node.session = node.connect(principal)
    code = ErrorCode.NONE if allowed else ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert create(node).error_code == code


def test_without_a_key_there_are_no_tokens() -> None:
    node = OneNode({"listener.security.protocol.map": "PLAINTEXT:SASL_SSL"})
    node.session = node.connect(ALICE)
    codes = [create(node), renew(node, b"x"), expire(node, b"x")]
    codes.append(node.ask(Api.DESCRIBE_DELEGATION_TOKEN, 3, owners=None))
    assert {one.error_code for one in codes} == {ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED}


def test_a_renewer_of_another_kind_than_user_is_refused() -> None:
    node = Guarded().as_(ALICE)
    rows = [{"principal_type": "Group", "principal_name": "g"}]
    answer = node.ask(
        Api.CREATE_DELEGATION_TOKEN,
        3,
        owner_principal_type=None,
        owner_principal_name=None,
        renewers=rows,
        max_lifetime=-1,
    )
    assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_tokens_that_have_expired_are_removed_in_time() -> None:
    node = Guarded()
    create(node.as_(ALICE), lifetime=1000)
    kept = create(node.as_(ALICE)).token_id
    node.node.tick()
    assert len(node.broker.controller.image.tokens) == 2
    node.clock.pass_ms(3_600_001)
    node.node.tick()
    assert list(node.broker.controller.image.tokens) == [kept]


def test_records_of_tokens_have_kafkas_bytes() -> None:
    token = DelegationTokenRecord("User:a", "User:b", ("User:c",), 1, 2, 3, "id")
    numbers = b"".join(number.to_bytes(8, "big") for number in (1, 2, 3))
    assert encode(token) == b"\x01\x0a\x00\x07User:a\x07User:b\x02\x07User:c" + numbers + b"\x03id\x00"
    assert encode(RemoveDelegationTokenRecord("id")) == b"\x01\x1a\x00\x03id\x00"
    assert decode(encode(token)) == token
