"""S4: every API in every version by name, as a principal without rights, as an owner and as an administrator.
The first changes nothing and cannot tell what exists from what does not. The owner is never refused its own
and changes nothing of others. The administrator is never refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import read_response
from penstock.security.acls import PatternType
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import ANONYMOUS, user
from tests.fuzz.requests import RequestMaker, served_versions
from tests.fuzz.test_stranger import Furnished

ROUNDS, ROUNDS_LONG = 1, 12
NAMES = ("canary-0", "canary-1", "canary-group", "canary-transaction", "canary", "canary-entry", "canary-new")
SETTINGS = ("retention.ms", "1")
OWN = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
REFUSALS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
ALL_REFUSALS = {
    *REFUSALS,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
OF_ITSELF = {Api.CREATE_DELEGATION_TOKEN, Api.DESCRIBE_DELEGATION_TOKEN}
"""Everybody may have these for itself; the answers have random parts."""


class ClientsMaker(RequestMaker):
    """Requests of clients, which are no replicas and name their group."""

    def _field(self, field: dataclasses.Field[Any], hint: Any) -> Any:
        if field.name == "group_id":
            return self._random.choice(self._names)
        return -1 if field.name == "replica_id" else super()._field(field, hint)


def seen(api: Api, version: int, answer: bytes) -> Any:
    """An answer without what is random in it."""
    decoded = read_response(api, version, answer) if answer else None
    if hasattr(decoded, "session_id"):
        decoded = dataclasses.replace(decoded, session_id=0)
    return repr(decoded).replace("canary", "absent")


def codes(answer: Any) -> Iterator[int]:
    """All error codes of an answer."""
    if dataclasses.is_dataclass(answer):
        for field in dataclasses.fields(answer):
            value = getattr(answer, field.name)
            if field.name == "error_code":
                yield int(value)
            else:
                yield from codes(value)
    elif isinstance(answer, tuple):
        for each in answer:
            yield from codes(each)


def refusals(api: Api, version: int, answer: bytes, of: set[ErrorCode]) -> set[int]:
    return {code for code in codes(read_response(api, version, answer)) if code in of} if answer else set()


@pytest.mark.claim("S4")
def test_without_rights_nothing_changes_and_what_exists_looks_like_what_does_not(
    seed: int, long_form: bool
) -> None:
    node = Furnished()
    before = node.state()
    mallory = node.as_(user("mallory"))
    maker = RequestMaker(Random(seed), names=(*NAMES, *SETTINGS))
    tried = 0
    for _ in range(ROUNDS_LONG if long_form else ROUNDS):
        for api, version in served_versions():
            frame = maker.frame(api, version)
            answer = mallory.send(frame)
            assert node.state() == before, f"{api.name} v{version} changed something: {frame.hex()}"
            absent = mallory.send(frame.replace(b"canary", b"absent"))
            tried += 1
            if api not in OF_ITSELF:
                assert seen(api, version, answer) == seen(api, version, absent), (
                    f"{api.name} v{version} tells what exists: {answer!r}, {absent!r} to {frame.hex()}"
                )
    print(f"{tried} pairs of requests")


@pytest.mark.claim("S4")
def test_an_owner_is_never_refused_its_own_and_changes_nothing_of_others(seed: int, long_form: bool) -> None:
    node = Furnished()
    for name in ("others-0", "others-1"):
        node.create_topic(name, 2)
    for resource in OWN:
        node.allow(Operation.ALL, resource, "canary", pattern=PatternType.PREFIXED)
    alice = node.as_(user("alice"))
    random = Random(seed)
    own, both = (
        ClientsMaker(random, names=(*NAMES, *more)) for more in ((), ("others-0", "others-1", *SETTINGS))
    )
    theirs = topics_of(node, "others")
    accepted: set[Api] = set()
    for _ in range(ROUNDS_LONG if long_form else ROUNDS):
        for api, version in served_versions():
            answer = alice.send(own.frame(api, version))
            refused = refusals(api, version, answer, REFUSALS)
            assert not refused, f"{api.name} v{version}: {refused}"
            if answer and not refusals(api, version, answer, ALL_REFUSALS):
                accepted.add(api)
            alice.send(both.frame(api, version))
            assert topics_of(node, "others") == theirs, f"{api.name} v{version} changed what is another's"
    assert {Api.PRODUCE, Api.FETCH, Api.CREATE_TOPICS, Api.OFFSET_COMMIT} <= accepted


def topics_of(node: Furnished, prefix: str) -> Any:
    image, ends = node.state()
    return (
        {name: topic for name, topic in image.topics.items() if name.startswith(prefix)},
        {place: end for place, end in ends.items() if place[0].startswith(prefix)},
    )


@pytest.mark.claim("S4")
def test_an_administrator_is_never_refused(seed: int, long_form: bool) -> None:
    node = Furnished()
    admin = node.as_(ANONYMOUS)
    maker = RequestMaker(Random(seed), names=(*NAMES, *SETTINGS))
    for _ in range(ROUNDS_LONG if long_form else ROUNDS):
        for api, version in served_versions():
            refused = refusals(api, version, admin.send(maker.frame(api, version)), ALL_REFUSALS)
            assert not refused, f"{api.name} v{version}: {refused}"
