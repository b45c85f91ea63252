"""kafka-python's admin client: settings, records, producers, log directories, features."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

Topic = Callable[[int], str]


@pytest.fixture(scope="module")
def admin(servers: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=servers)
    yield client
    client.close()


def fill(servers: str, topic: str, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    for index in range(count):
        producer.send(topic, b"%d" % index, partition=0)
    producer.flush(10)
    producer.close()


def values(admin: KafkaAdminClient, topic: str) -> dict[str, str]:
    found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all")
    return {key: entry["value"] for key, entry in found["topic"][topic].items()}


@pytest.mark.parametrize("incremental", [True, False])
def test_settings_are_changed_and_go_back(admin: KafkaAdminClient, topic: Topic, incremental: bool) -> None:
    name = topic(1)
    wish = ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": "4000", "segment.ms": "9000"})
    admin.alter_configs([wish], incremental=incremental)
    assert (values(admin, name)["retention.ms"], values(admin, name)["segment.ms"]) == ("4000", "9000")
    back = ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": None})
    admin.reset_configs([back], incremental=incremental)
    assert (values(admin, name)["retention.ms"], values(admin, name)["segment.ms"]) == ("604800000", "9000")


def test_records_are_deleted(servers: str, admin: KafkaAdminClient, topic: Topic) -> None:
    name = topic(1)
    fill(servers, name, 10)
    place = TopicPartition(name, 0)
    assert admin.delete_records({place: 6})[place]["low_watermark"] == 6


def test_producers_and_log_directories_are_described(
    servers: str, admin: KafkaAdminClient, topic: Topic
) -> None:
    name = topic(1)
    fill(servers, name, 3)
    producers = admin.describe_producers([TopicPartition(name, 0)])
    assert "last_sequence" in str(producers)
    (broker,) = admin.describe_log_dirs({name: [0]})
    (directory,) = broker["log_dirs"]
    (found,) = directory["topics"]
    assert found["partitions"][0]["partition_size"] > 0
    assert directory["total_bytes"] >= directory["usable_bytes"] > 0


def test_partitions_are_described_page_by_page(admin: KafkaAdminClient, topic: Topic) -> None:
    name = topic(3)
    first = admin.describe_topic_partitions([name], response_partition_limit=2)
    assert [part["partition_index"] for part in first["topics"][0]["partitions"]] == [0, 1]
    second = admin.describe_topic_partitions([name], cursor=first["next_cursor"])
    assert [part["partition_index"] for part in second["topics"][0]["partitions"]] == [2]
    assert second["next_cursor"] is None


def test_features_and_resources_are_listed(admin: KafkaAdminClient, topic: Topic) -> None:
    feature = admin.describe_features()["metadata.version"]
    low, high = feature["supported"]
    assert low <= feature["finalized"][1] <= high
    assert topic(1) in admin.list_config_resources(["TOPIC"])["topic"]
