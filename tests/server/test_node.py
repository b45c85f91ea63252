"""A node on its directory: what it finds there at a start, and what it makes of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from penstock.clock import SystemClock
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.controller.topics import NewTopic
from penstock.handlers.topic_creation import create_topic
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.metadata import Node as Endpoint
from penstock.server.node import Node
from penstock.settings import BrokerSettings
from penstock.storage.disk import OsDisk


def node_on(*data: Path) -> Node:
    given = {"log.dirs": ",".join(map(str, data)), "listeners": "PLAINTEXT://127.0.0.1:9092"}
    settings = BrokerSettings.from_texts(given)
    return Node(settings, OsDisk(), SystemClock(), Random(1), {"PLAINTEXT": Endpoint(1, "127.0.0.1", 9092)})


def test_topics_are_there_after_a_restart(tmp_path: Path) -> None:
    node = node_on(tmp_path)
    create_topic(node.broker, NewTopic("t", 3, 1, configs={"retention.ms": "5"}))
    node.close()
    again = node_on(tmp_path)
    assert len(again.broker.controller.image.topics["t"].partitions) == 3
    assert again.broker.partitions.get("t", 2).log.settings.retention_ms == 5
    again.close()


def test_a_log_that_no_topic_owns_stands_aside_and_is_kept(tmp_path: Path) -> None:
    node = node_on(tmp_path)
    create_topic(node.broker, NewTopic("t", 1, 1))
    node.close()
    (tmp_path / "t-0").rename(tmp_path / "stranger-0")
    again = node_on(tmp_path)
    again.close()
    assert not (tmp_path / "stranger-0").exists()
    (stray,) = tmp_path.glob("stranger-0.*-stray")
    assert (stray / "00000000000000000000.log").exists()
    node_on(tmp_path).close()
    assert stray.exists()


def test_a_log_whose_replica_has_moved_stands_aside_and_the_reason_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = node_on(tmp_path)
    create_topic(node.broker, NewTopic("t", 1, 1))
    topic_id = node.broker.controller.image.topics["t"].topic_id
    shutil.copytree(tmp_path / "t-0", tmp_path / "kept")
    moved = PartitionChangeRecord(0, topic_id, isr=(2,), leader=2, replicas=(2,))
    node.broker.controller.submit(lambda image: ([moved], None)).result()
    node.close()
    (tmp_path / "kept").rename(tmp_path / "t-0")
    node_on(tmp_path).close()
    assert "its replicas are on other brokers now (2)" in caplog.text
    assert len(list(tmp_path.glob("t-0.*-stray"))) == 1
    caplog.clear()
    node_on(tmp_path).close()
    assert f"1 logs stand aside in {tmp_path}" in caplog.text


def test_a_topic_with_the_longest_name_can_be_deleted(tmp_path: Path) -> None:
    node = node_on(tmp_path)
    name = "n" * 249
    create_topic(node.broker, NewTopic(name, 1, 1))
    node.broker.logs.delete(name, 0)
    assert node.broker.logs.failures() == []
    assert not list(tmp_path.glob("n*-0"))
    node.tick()
    assert not list(tmp_path.glob("n*"))
    node.close()


def test_a_directory_that_cannot_be_used_is_offline_and_the_others_serve(tmp_path: Path) -> None:
    both = tmp_path / "one", tmp_path / "two"
    node = node_on(*both)
    create_topic(node.broker, NewTopic("t", 4, 1))
    node.close()
    lost = {int(path.name[2:]) for path in both[1].glob("t-*")}
    assert len(lost) == 2
    (both[1] / "recovery-point-offset-checkpoint").write_text("this is no checkpoint")
    again = node_on(*both)
    partitions = again.broker.partitions
    assert {index for index in range(4) if partitions.is_offline("t", index)} == lost
    for index in range(4):
        if index in lost:
            with pytest.raises(KafkaError) as refused:
                partitions.get("t", index)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        else:
            assert partitions.get("t", index).log.log_end_offset == 0
    again.close()
