"""confluent-kafka's AdminClient: settings, records, offsets and descriptions of topics and brokers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    OffsetSpec,
    ResourceType,
)

Topic = Callable[[int], str]
SECONDS = 10


@pytest.fixture(scope="module")
def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


def change(name: str, operation: AlterConfigOpType, value: str | None = None) -> ConfigEntry:
    return ConfigEntry(name, value, source=ConfigSource.DYNAMIC_TOPIC_CONFIG, incremental_operation=operation)


def alter(admin: AdminClient, kind: ResourceType, name: str, *changes: ConfigEntry) -> None:
    resource = ConfigResource(kind, name, incremental_configs=list(changes))
    admin.incremental_alter_configs([resource])[resource].result(SECONDS)


def config(admin: AdminClient, kind: ResourceType, name: str, key: str) -> ConfigEntry:
    resource = ConfigResource(kind, name)
    return admin.describe_configs([resource])[resource].result(SECONDS)[key]


def fill(servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for index in range(count):
        producer.produce(topic, b"%d" % index, partition=0)
    assert producer.flush(SECONDS) == 0


def test_settings_of_a_topic_are_changed_and_described(admin: AdminClient, topic: Topic) -> None:
    name = topic(1)
    alter(
        admin,
        ResourceType.TOPIC,
        name,
        change("retention.ms", AlterConfigOpType.SET, "86400000"),
        change("cleanup.policy", AlterConfigOpType.APPEND, "compact"),
    )
    retention = config(admin, ResourceType.TOPIC, name, "retention.ms")
    assert (retention.value, retention.source) == ("86400000", ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
    policy = config(admin, ResourceType.TOPIC, name, "cleanup.policy").value
    assert policy is not None
    assert set(policy.split(",")) == {"compact", "delete"}
    alter(admin, ResourceType.TOPIC, name, change("retention.ms", AlterConfigOpType.DELETE))
    assert config(admin, ResourceType.TOPIC, name, "retention.ms").value == "604800000"


def test_a_bad_setting_is_refused_with_its_reason(admin: AdminClient, topic: Topic) -> None:
    with pytest.raises(KafkaException) as refusal:
        alter(admin, ResourceType.TOPIC, topic(1), change("retention.ms", AlterConfigOpType.SET, "soon"))
    assert "Invalid value soon for configuration retention.ms" in refusal.value.args[0].str()


def test_settings_of_the_broker_are_changed_and_described(admin: AdminClient) -> None:
    alter(admin, ResourceType.BROKER, "1", change("log.cleaner.threads", AlterConfigOpType.SET, "2"))
    entry = config(admin, ResourceType.BROKER, "1", "log.cleaner.threads")
    assert (entry.value, entry.source) == ("2", ConfigSource.DYNAMIC_BROKER_CONFIG.value)
    assert list(entry.synonyms) == ["log.cleaner.threads"]
    alter(admin, ResourceType.BROKER, "1", change("log.cleaner.threads", AlterConfigOpType.DELETE))
    with pytest.raises(KafkaException, match="Cannot update these configs dynamically"):
        alter(admin, ResourceType.BROKER, "1", change("log.dirs", AlterConfigOpType.SET, "elsewhere"))


def test_the_older_way_replaces_all_settings(admin: AdminClient, topic: Topic) -> None:
    name = topic(1)
    alter(admin, ResourceType.TOPIC, name, change("retention.ms", AlterConfigOpType.SET, "5000"))
    resource = ConfigResource(ResourceType.TOPIC, name, set_config={"segment.ms": "7000"})
    with pytest.warns(DeprecationWarning, match="incremental_alter_configs"):
        admin.alter_configs([resource])[resource].result(SECONDS)
    assert config(admin, ResourceType.TOPIC, name, "segment.ms").value == "7000"
    assert config(admin, ResourceType.TOPIC, name, "retention.ms").value == "604800000"


def test_records_are_deleted_and_offsets_listed(servers: str, admin: AdminClient, topic: Topic) -> None:
    name = topic(1)
    fill(servers, name, 10)
    place = TopicPartition(name, 0, 4)
    deleted = admin.delete_records([place])[place].result(SECONDS)
    assert deleted.low_watermark == 4

    def listed(spec: OffsetSpec) -> int:
        asked = TopicPartition(name, 0)
        return int(admin.list_offsets({asked: spec})[asked].result(SECONDS).offset)

    assert listed(OffsetSpec.earliest()) == 4
    assert listed(OffsetSpec.latest()) == 10
    assert listed(OffsetSpec.max_timestamp()) >= 4
    assert listed(OffsetSpec.for_timestamp(0)) == 4
    everything = TopicPartition(name, 0, -1)
    assert admin.delete_records([everything])[everything].result(SECONDS).low_watermark == 10
    beyond = TopicPartition(name, 0, 11)
    with pytest.raises(KafkaException, match="OFFSET_OUT_OF_RANGE"):
        admin.delete_records([beyond])[beyond].result(SECONDS)


def test_topics_and_the_cluster_are_described_with_what_may_be_done(admin: AdminClient, topic: Topic) -> None:
    name = topic(3)
    described = admin.describe_topics(TopicCollection([name]), include_authorized_operations=True)[name]
    found = described.result(SECONDS)
    assert [partition.id for partition in found.partitions] == [0, 1, 2]
    assert len(found.authorized_operations) == 8
    cluster = admin.describe_cluster(include_authorized_operations=True).result(SECONDS)
    assert [node.id for node in cluster.nodes] == [1]
    assert len(cluster.authorized_operations) == 7
