"""S4: a principal without any right, with requests of every API in every version: nothing changes, nothing is
revealed, and each API asks for what it declares."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.handlers.reply import HangUp, NoReply, Outcome, Wait
from penstock.handlers.table import HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.primitives import MalformedMessage
from penstock.security.access import Open
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import user
from penstock.security.scram import SHA_256, salted_password
from tests.fuzz.requests import RequestMaker, served_versions
from tests.handlers.one_node import body_of
from tests.handlers.test_acls import Guarded

ROUNDS = 12
CANARY = b"canary"
CANARY_USER = "User:canary"


class Furnished(Guarded):
    """A node on which everything that has a name is called a canary."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = [self.create_topic(f"canary-{number}", 2) for number in range(2)]
        self.append("canary-0", [b"canary in a record"])
        self.allow(Operation.READ, ResourceType.TOPIC, "canary-entry", principal="User:canary")
        salted = salted_password(SHA_256, "canary", b"canary", 4096)
        row = {"name": "canary", "mechanism": 1, "iterations": 4096, "salt": b"canary-salt"}
        self.ask(
            Api.ALTER_USER_SCRAM_CREDENTIALS,
            0,
            deletions=(),
            upsertions=[{**row, "salted_password": salted}],
        )
        nobody = {"renewers": (), "max_lifetime": -1}
        owner = {"owner_principal_type": "User", "owner_principal_name": "canary"}
        self.ask(Api.CREATE_DELEGATION_TOKEN, 3, **owner, **nobody)
        self.found("canary-group", 0)
        self.load()
        place = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1}
        place["committed_metadata"] = "canary"
        topics = [{"name": "canary-0", "partitions": [place]}]
        group = {"group_id": "canary-group", "generation_id_or_member_epoch": -1, "member_id": ""}
        answer = self.ask(Api.OFFSET_COMMIT, 8, **group, group_instance_id=None, topics=topics)
        assert answer.topics[0].partitions[0].error_code == 0
        self.found("canary-transaction", 1)
        self.load()
        self.ask(
            Api.INIT_PRODUCER_ID,
            4,
            transactional_id="canary-transaction",
            transaction_timeout=60_000,
            producer_id=-1,
            producer_epoch=-1,
        )

    def found(self, key: str, kind: int) -> None:
        self.ask(Api.FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=[key])

    def state(self) -> Any:
        """What nobody may change: the metadata, and what is in the logs."""
        image = self.broker.controller.image
        # Everybody may have tokens for itself.
        image = replace(
            image, tokens={key: token for key, token in image.tokens.items() if token.owner == CANARY_USER}
        )
        ends = {
            (name, index): self.broker.partitions.get(name, index).log.log_end_offset
            for name, topic in image.topics.items()
            for index in range(len(topic.partitions))
        }
        return image, ends

    def send(self, frame: bytes) -> bytes:
        try:
            outcome: Outcome = self.session.handle(memoryview(bytearray(frame))).outcome
        except (MalformedMessage, HangUp):
            return b""
        while isinstance(outcome, Wait):
            self.clock.ms = max(self.clock.ms, outcome.deadline * 1000)
            outcome = outcome.resume(True)
        return b"" if isinstance(outcome, NoReply) else body_of(outcome)


@pytest.mark.claim("S4")
def test_a_principal_without_rights_changes_nothing_and_learns_no_name(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Furnished()
    before = node.state()
    asked: dict[str, int] = defaultdict(int)
    decide = node.broker.authorizer.decide  # type: ignore[attr-defined]
    mallory = node.as_(user("mallory"))
    now: list[Api] = []

    def counting(*question: Any) -> Any:
        asked[now[-1].name] += 1
        return decide(*question)

    monkeypatch.setattr(node.broker.authorizer, "decide", counting)
    maker = RequestMaker(Random(seed), node.ids)
    for _ in range(ROUNDS):
        for api, version in served_versions():
            now.append(api)
            frame = maker.frame(api, version)
            answer = mallory.send(frame)
            assert CANARY not in answer, f"{api.name} v{version} tells a name: {answer!r} to {frame.hex()}"
    assert node.state() == before
    declared = {api.name for api, handler in HANDLERS.items() if not isinstance(handler.ACCESS, Open)}
    assert declared - asked.keys() == set()
    print(f"{sum(asked.values())} questions in {ROUNDS * len(list(served_versions()))} requests")
