"""Requests about groups, moves of replicas and brokers that are not there, asked of both brokers."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from penstock.protocol.apis import Api
from tests.peers.asking import Asker, Pair

LEFT_OUT = {"throttle_time", "cluster_id", "host", "port"}


def plain(value: Any) -> Any:
    """A response as lists and dictionaries, without what depends on the run."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name not in LEFT_OUT]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value


def same(pair: Pair, api: Api, version: int, **fields: Any) -> Any:
    return pair.same(lambda peer: plain(peer.ask(api, version, **fields)))


@pytest.fixture
def coordinated(pair: Pair) -> Pair:
    """Both have loaded the coordinator of the groups that are asked for."""

    def code(peer: Asker) -> int:
        peer.ask(Api.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["nobody"])
        fields = {"group_id": "nobody", "generation_id": 1, "member_id": "x", "group_instance_id": None}
        return int(peer.ask(Api.HEARTBEAT, 4, **fields).error_code)

    assert pair.same_soon(lambda peer: code(peer) == 25)
    return pair


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        (Api.DESCRIBE_GROUPS, 5, {"groups": ["nobody"], "include_authorized_operations": True}),
        (Api.DESCRIBE_GROUPS, 6, {"groups": ["nobody"], "include_authorized_operations": True}),
        (Api.CONSUMER_GROUP_DESCRIBE, 0, {"group_ids": ["nobody"], "include_authorized_operations": True}),
        (Api.DELETE_GROUPS, 2, {"groups_names": ["nobody"]}),
        (Api.LEAVE_GROUP, 2, {"group_id": "nobody", "member_id": "x"}),
        (
            Api.LEAVE_GROUP,
            5,
            {
                "group_id": "nobody",
                "members": [{"member_id": "x", "group_instance_id": None, "reason": None}],
            },
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_group_that_is_not_there_is_answered_alike(
    coordinated: Pair, api: Api, version: int, fields: dict[str, Any]
) -> None:
    same(coordinated, api, version, **fields)


@pytest.mark.parametrize("replicas", [[1], None, [7], [], [1, 1], [-1]], ids=str)
def test_replicas_are_moved_or_refused_alike(pair: Pair, replicas: list[int] | None) -> None:
    name = pair.new_topic()
    for topic, index in ((name, 0), (name, 9), ("no-such-topic", 0)):
        wanted = [{"name": topic, "partitions": [{"partition_index": index, "replicas": replicas}]}]
        same(pair, Api.ALTER_PARTITION_REASSIGNMENTS, 0, timeout=5000, topics=wanted)


def test_a_broker_that_is_not_registered_is_not_forgotten(pair: Pair) -> None:
    same(pair, Api.UNREGISTER_BROKER, 0, broker_id=77)


@pytest.mark.parametrize("endpoint_type", [1, 2, 9])
def test_the_cluster_is_described_alike(pair: Pair, endpoint_type: int) -> None:
    asked = {"include_cluster_authorized_operations": True, "include_fenced_brokers": False}
    same(pair, Api.DESCRIBE_CLUSTER, 2, endpoint_type=endpoint_type, **asked)
