"""ApiVersions: what is announced is what is served."""

from __future__ import annotations

import struct

import pytest

from penstock.handlers.reply import Reply
from penstock.handlers.table import HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.messages import read_response
from tests.handlers.one_node import OneNode, body_of


def test_every_api_is_announced_with_the_versions_it_is_served_in() -> None:
    answer = OneNode().ask(Api.API_VERSIONS, 2)
    announced = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert announced == {int(api): module.VERSIONS for api, module in HANDLERS.items()}


@pytest.mark.parametrize("version", [-1, 5, 77])
def test_a_version_that_is_not_served_is_answered_with_35_in_the_oldest_layout(version: int) -> None:
    node = OneNode()
    frame = struct.pack(">hhih", Api.API_VERSIONS, version, 7, -1)
    outcome = node.session.handle(memoryview(bytearray(frame))).outcome
    assert isinstance(outcome, Reply)
    assert read_response(Api.API_VERSIONS, 0, body_of(outcome)).error_code == 35


def test_features_are_announced_with_their_levels() -> None:
    node = OneNode()
    fields = {"client_software_name": "test", "client_software_version": "1"}
    before = node.ask(Api.API_VERSIONS, 4, **fields)
    supported = {row.name: (row.min_version, row.max_version) for row in before.supported_features}
    finalized = {row.name: row.max_version_level for row in before.finalized_features}
    assert finalized["metadata.version"] in range(supported["metadata.version"][0], 30)
    assert finalized.keys() <= supported.keys()
    node.create_topic("t")
    after = node.ask(Api.API_VERSIONS, 4, **fields)
    assert after.finalized_features_epoch > before.finalized_features_epoch
