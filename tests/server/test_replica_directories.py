"""What a broker has to say of its log directories: the difference between what is known and what is so."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from penstock.controller.directory_ids import LOST, MIGRATING
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.server.cluster.replica_directories import ReplicaDirectories, Untold, by_directory
from tests.handlers.one_node import OneNode


@pytest.fixture
def node() -> OneNode:
    node = OneNode({"log.dirs": "/a,/b"})
    node.create_topic("t", 3)
    return node


def directories_of(node: OneNode) -> ReplicaDirectories:
    broker = node.broker
    return ReplicaDirectories(1, broker.logs, broker.partitions, broker.controller)


def topic_id(node: OneNode) -> bytes:
    return node.broker.controller.image.topics["t"].topic_id


def learn(node: OneNode, *told: Untold) -> None:
    records: list[MetadataRecord] = [
        PartitionChangeRecord(each.partition, each.topic_id, directories=(each.directory_id,))
        for each in told
    ]
    node.broker.controller.submit(lambda image: (records, None)).result()


def test_what_the_controller_does_not_know_is_told_until_it_does(node: OneNode) -> None:
    directories = directories_of(node)
    untold = directories.untold()
    assert [each.partition for each in untold] == [0, 1, 2]
    assert {each.directory_id for each in untold} == set(directories.online)
    assert directories.untold() == untold
    learn(node, *untold[1:])
    assert directories.untold() == untold[:1]
    learn(node, untold[0])
    assert directories.untold() == []


def test_what_is_known_wrongly_is_told_anew(node: OneNode) -> None:
    directories = directories_of(node)
    untold = directories.untold()
    learn(node, *untold)
    assert directories.untold() == []
    learn(node, Untold(b"?" * 16, topic_id(node), 1))
    assert directories.untold() == [untold[1]]


def test_a_directory_that_fails_goes_from_one_list_to_the_other_and_its_replicas_are_still_told(
    node: OneNode,
) -> None:
    directories = directories_of(node)
    first, second = directories.online
    told: list[str] = []
    node.node.on_disk_failure(lambda: told.append("failed"))
    node.broker.logs.directories[1].fail(OSError(errno.EIO, "broken"))
    assert (directories.online, directories.offline, told) == ((first,), (second,), ["failed"])
    assert second in {each.directory_id for each in directories.untold()}
    assert node.node.disabling_failure is None
    node.broker.logs.directories[0].fail(OSError(errno.EIO, "broken"))
    assert node.node.disabling_failure is not None


def test_without_the_directory_of_its_metadata_a_node_is_of_no_use(node: OneNode) -> None:
    metadata = next(each for each in node.broker.logs.directories if each.path == "/a")
    metadata.fail(OSError(errno.EIO, "broken"))
    assert node.node.disabling_failure is metadata.failure


def test_a_replica_in_a_directory_that_cannot_be_opened_is_lost_if_the_controller_counts_on_it(
    node: OneNode,
) -> None:
    (inside,) = [each for each in range(3) if node.disk.exists(f"/b/t-{each}")][:1]
    there = directories_of(node).online[1]
    node.node.close()
    node.disk.write_atomic("/b/meta.properties", b"what is this?")
    node.restart(killed=True)
    directories = directories_of(node)
    lost = [each for each in directories.untold() if each.directory_id == LOST]
    assert inside in [each.partition for each in lost]
    learn(node, Untold(there, topic_id(node), inside))
    assert inside not in [each.partition for each in directories.untold()]


def test_the_request_has_partitions_by_topic_by_directory() -> None:
    told: list[Any] = by_directory(
        [Untold(b"a", b"t", 0), Untold(b"b", b"t", 1), Untold(b"a", b"t", 2), Untold(b"a", b"u", 0)]
    )
    assert [(each["id_"], [topic["topic_id"] for topic in each["topics"]]) for each in told] == [
        (b"a", [b"t", b"u"]),
        (b"b", [b"t"]),
    ]
    assert told[0]["topics"][0]["partitions"] == [{"partition_index": 0}, {"partition_index": 2}]


def test_a_node_that_is_alone_is_not_asked(node: OneNode) -> None:
    assert node.broker.controller.image.brokers[1].directories == ()
    assert set(node.broker.controller.image.topics["t"].partitions[0].places.values()) == {MIGRATING}
