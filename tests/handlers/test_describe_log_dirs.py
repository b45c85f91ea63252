"""DescribeLogDirs: where the logs are and how large."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode

Topics = list[dict[str, Any]] | None


@pytest.fixture
def node() -> OneNode:
    node = OneNode({"log.dirs": "/a,/b"})
    node.create_topic("t", 2)
    node.append("t", [b"x" * 100])
    return node


def describe(node: OneNode, topics: Topics = None, version: int = 4) -> list[Any]:
    answer = node.ask(Api.DESCRIBE_LOG_DIRS, version, topics=topics)
    return list(answer.results)


def logs(result: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, part.partition_index): part.partition_size
        for topic in result.topics
        for part in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_every_log_is_in_one_directory_with_its_size(node: OneNode, version: int) -> None:
    results = describe(node, version=version)
    assert [result.log_dir for result in results] == ["/a", "/b"]
    together = logs(results[0]) | logs(results[1])
    assert together.keys() == {("t", 0), ("t", 1)}
    assert together["t", 0] == node.broker.partitions.get("t", 0).log.size_bytes > 100
    assert together["t", 1] == 0


def test_only_what_is_asked_for_is_described(node: OneNode) -> None:
    found = [logs(result) for result in describe(node, [{"topic": "t", "partitions": (1,)}])]
    assert sorted(map(len, found)) == [0, 1]
    assert [logs(result) for result in describe(node, [])] == [{}, {}]


def test_the_volume_tells_its_size(node: OneNode) -> None:
    assert all(result.total_bytes >= result.usable_bytes > 0 for result in describe(node))


def test_a_directory_that_has_failed_is_there_with_its_error(node: OneNode) -> None:
    node.broker.logs.directories[1].fail(OSError(errno.EIO, "broken"))
    results = describe(node)
    assert [int(result.error_code) for result in results] == [0, 56]
    assert logs(results[1]) == {}
