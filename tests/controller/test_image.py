"""Replay: from records to the image that everybody reads."""

from __future__ import annotations

from penstock.controller.image import Image, replay
from penstock.controller.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)

ID = bytes(range(16))


def partition(index: int, leader_epoch: int = 0) -> PartitionRecord:
    return PartitionRecord(index, ID, (1,), (1,), 1, leader_epoch, 0)


def test_a_topic_appears_with_its_partitions_and_settings() -> None:
    image = replay(
        Image(), [TopicRecord("t", ID), ConfigRecord(2, "t", "k", "v"), partition(0), partition(1)]
    )
    assert [state.leader for state in image.topics["t"].partitions] == [1, 1]
    assert image.topic("", ID) is image.topics["t"]
    assert image.topic_config("t") == {"k": "v"}


def test_a_later_record_of_a_partition_replaces_the_earlier() -> None:
    image = replay(Image(), [TopicRecord("t", ID), partition(0)])
    assert replay(image, [partition(0, leader_epoch=5)]).topics["t"].partitions[0].leader_epoch == 5


def test_the_old_image_does_not_change_under_its_readers() -> None:
    old = replay(Image(), [TopicRecord("t", ID), ConfigRecord(2, "t", "k", "v"), partition(0)])
    replay(old, [partition(1), ConfigRecord(2, "t", "k", "w"), ConfigRecord(2, "t", "l", "x")])
    assert len(old.topics["t"].partitions) == 1
    assert old.topic_config("t") == {"k": "v"}


def test_a_removed_topic_takes_its_settings_along() -> None:
    image = replay(Image(), [TopicRecord("t", ID), ConfigRecord(2, "t", "k", "v"), partition(0)])
    assert replay(image, [RemoveTopicRecord(ID)]) == Image()


def test_a_setting_without_value_returns_to_its_default() -> None:
    image = replay(Image(), [TopicRecord("t", ID), ConfigRecord(2, "t", "k", "v")])
    assert replay(image, [ConfigRecord(2, "t", "k", None)]).topic_config("t") == {}


def test_producer_ids_only_move_on() -> None:
    assert replay(Image(), [ProducerIdsRecord(1, -1, 1000)]).next_producer_id == 1000
