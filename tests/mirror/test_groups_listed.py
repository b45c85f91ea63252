"""The groups of a cluster are listed whole, or the listing says that it may not be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.main import run
from penstock.mirror.inspecting import sides
from penstock.mirror.settings import MirrorSettings
from penstock.mirror.sides import OFFSETS_TOPIC, Side
from penstock.protocol.apis import Api
from penstock.testing import Broker
from penstock.testing.proxy import Proxy


def no_groups(answer: dict[str, Any]) -> None:
    """The broker lists no group and no error, as one does that coordinates none at the moment."""
    answer["groups"] = []


def no_leaders(answer: dict[str, Any]) -> None:
    """The cluster says that no partition of groups has a leader."""
    for topic in answer["topics"]:
        for partition in topic["partitions"] if topic["name"] == OFFSETS_TOPIC else ():
            partition["leader_id"] = -1


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("read", 1, 1)])["read"].result(30)
        for group in ("one", "two", "three"):
            consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
            consumer.commit(offsets=[TopicPartition("read", 0, 0)], asynchronous=False)
            consumer.close()
        yield broker.bootstrap_servers


@contextmanager
def side(servers: str) -> Iterator[Side]:
    texts = {"A.bootstrap.servers": servers, "B.bootstrap.servers": servers}
    flow = MirrorSettings({"clusters": "A,B", "A->B.enabled": "true", **texts}).flow("A", "B").checked()
    with sides(flow) as (one, _):
        yield one


def test_all_groups_are_listed_without_doubt(servers: str) -> None:
    with side(servers) as source:
        assert source.all_groups() == (("one", "three", "two"), ())


@pytest.mark.parametrize("which", [1, 2])
def test_a_group_that_one_of_two_listings_lacks_is_there_and_is_named(servers: str, which: int) -> None:
    with Proxy(servers) as proxy, side(proxy.bootstrap_servers) as source:
        proxy.change(Api.LIST_GROUPS, no_groups, nth=which)
        found = source.all_groups()
        assert found.names == ("one", "three", "two")
        assert found.doubts == ("these groups were in one of two listings: one, three, two",)


def test_groups_whose_coordinator_has_no_leader_are_missed_aloud(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(tmp_path / "migration.properties")
    with Proxy(servers) as proxy, Broker() as target:
        proxy.change(Api.LIST_GROUPS, no_groups, times=None)
        proxy.change(Api.METADATA, no_leaders, times=None)
        ends = ("--from", proxy.bootstrap_servers, "--to", target.bootstrap_servers)
        assert run(["migrate", "plan", *ends, "--config", config, "--json"]) == 0
        planned = json.loads(capsys.readouterr().out)
        assert run(["migrate", "cut-over", "--config", config, "--yes"]) == 1
        refused = capsys.readouterr().err

    assert (planned["groups"], planned["groups_complete"]) == ([], False)
    doubt = f"of {OFFSETS_TOPIC} have no leader: their groups are not known"
    assert any("may be incomplete" in remark and doubt in remark for remark in planned["remarks"])
    assert doubt in refused
